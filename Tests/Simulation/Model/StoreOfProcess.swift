import AppAuthProtocol
import AppAuthSession

/// The store as one process uses it.
struct StoreOfProcess: TokenStore {
    let simulation: Simulation
    let life: Life

    var location: String { "the store" }

    func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        try await life.host.call { try simulation.read(for: life) }
    }

    func update<Value: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Value
    ) async throws -> Value {
        let grip = call.grant as? Grip
        let end = simulation.world.now + SimulatedStore.callTimeout
        while simulation.rejects(grip), !simulation.isLockFree, simulation.world.now < end {
            try await life.host.pause(50)
        }
        return try await life.host.call { try simulation.update(life, under: grip, change) }
    }

    func prepareForRefresh(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        try await life.host.call { try simulation.prepareForRefresh(life, under: call.grant as? Grip) }
    }

    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock {
        try life.host.checkLife()
        let grip = try await simulation.store.lock(for: life, simulation)
        life.grip = grip
        return RefreshLock(
            grant: grip, isHeld: { [simulation] in grip.lock.isHeld || simulation.flaw == .sendsWithoutLock }
        ) { [simulation, life] in
            if life.grip === grip { life.grip = nil }
            if simulation.flaw != .keepsTheLock { simulation.store.release(grip.lock, simulation) }
        }
    }
}

extension Simulation {
    var isLockFree: Bool { store.holder == nil || flaw == .presentsWithoutLock || flaw == .forgetsToReread }

    /// Whether a database refuses a change: the process knows that its lock was lost, or the database has granted the lock
    /// again.
    func rejects(_ grip: Grip?) -> Bool {
        guard setting.losesLocks, let lock = grip?.lock else { return false }
        let isCurrent = lock.number == store.lockNumber || flaw == .writesLate
        return !lock.isHeld || !isCurrent
    }

    /// Reserves room for one change.
    func prepareForRefresh(_ life: Life, under grip: Grip?) throws -> AuthStateRecord? {
        try life.host.checkLife()
        if let lock = grip?.lock, lock.number != store.lockNumber {
            if flaw == .writesLate { lock.isMisused = true } else { lock.lose() }
        }
        if flaw != .reservesNoRoom {
            try store.reserve(at: world.now)
            life.hasRoom = true
        }
        defer {
            if losesLockInUse {
                losesLockInUse = false
                loseLocks(isNoticed: true)
            }
        }
        return try read(for: life)
    }

    func read(for life: Life) throws -> AuthStateRecord? {
        let record = try store.read(at: world.now)
        if flaw == .presentsFromMemory, life.grip != nil, record?.id == life.lastRead?.id { return life.lastRead }
        if life.grip == nil { life.lastRead = record }
        return record
    }

    /// Changes the stored session in one step.
    func update<Value>(
        _ life: Life, under grip: Grip?, _ change: (inout AuthStateRecord?) throws -> Value
    ) throws -> Value {
        try life.host.checkLife()
        life.hasUnsaved = true
        if let grip, rejects(grip) {
            guard isLockFree else {
                throw AuthError(.store, .store, "the lock was lost", outcome: .notSent, isTemporary: true)
            }
            note("process \(life.process) acquires the lock again")
            grip.lock = store.grant(to: life.process)
        }
        if let lock = grip?.lock, lock.number != store.lockNumber { lock.isMisused = true }
        let old = try store.read(at: world.now)
        var changed = old
        life.decided = nil
        let value = try change(&changed)
        let decided = life.decided
        defer {
            if old != changed, store.record == changed {
                checker.stores(old, changed, by: decided?.event, server)
                if let decided, changed?.id == decided.id {
                    checker.counts(decided.event, decided.decision.action, decided.id, at: decided.time ?? now)
                }
                note(changed.map { "stored: \($0.outline)" } ?? "removed from the store")
            }
        }
        defer { (life.hasRoom, life.lastRead) = (false, store.record) }
        do { try store.write(changed, at: world.now, hasRoom: life.hasRoom) } catch {
            if let changed, changed.end != nil { checker.endedInMemory.insert(changed.id) }
            throw error
        }
        life.hasUnsaved = false
        return value
    }
}
