import AppAuthProtocol
import AppAuthSession

/// The store that all processes share. It changes in one step, has one lock, and is sometimes full or shut.
final class SimulatedStore: @unchecked Sendable {
    /// A grant of the lock.
    final class Lock: @unchecked Sendable {
        let process: Int
        /// Each grant of a store has a larger one.
        let number: Int
        /// Whether the store has released the lock before its holder did.
        fileprivate(set) var isLost = false
        /// Whether the holder believes that it has the lock.
        fileprivate(set) var isHeld = true
        /// Whether the holder has changed the session although the store had granted the lock again, or has sent a
        /// refresh token although it knew that it had lost the lock.
        var isMisused = false

        /// Whether two holders may send one refresh token: neither can know of the other.
        var isExcused: Bool { isLost && !isMisused }

        func lose() { isHeld = false }

        fileprivate init(process: Int, number: Int) { (self.process, self.number) = (process, number) }
    }

    /// A task that waits for the lock.
    private struct Waiter {
        let number: Int
        let life: Life
        let continuation: UnsafeContinuation<Grip, any Error>
    }

    /// How long a database keeps the lock for a process that does not report, in milliseconds.
    static let lockTimeout = 60_000
    /// How long a change waits for the lock that its holder has lost.
    static let callTimeout = 10_000

    private(set) var record: AuthStateRecord?
    private(set) var holder: Lock?
    /// The number of the latest grant.
    private(set) var lockNumber = 0
    private var waiters: [Waiter] = []
    private var lastWaiter = 0
    var isFullUntil = 0
    /// Until then the store writes, but its response is lost: a folder that cannot be synced, a slow keyring.
    var isMuteUntil = 0
    /// Until then the store can be neither read nor written: a locked keyring.
    var isShutUntil = 0

    var troubledUntil: Int { max(isFullUntil, isMuteUntil, isShutUntil) }

    func beWell() { (isFullUntil, isMuteUntil, isShutUntil) = (0, 0, 0) }

    // MARK: - The session

    func read(at now: Int) throws(AuthError) -> AuthStateRecord? {
        guard now >= isShutUntil else {
            throw AuthError(.store, .store, "the keyring is locked", outcome: .notSent, isTemporary: true)
        }
        return record
    }

    func reserve(at now: Int) throws(AuthError) {
        _ = try read(at: now)
        guard now >= isFullUntil else { throw full }
    }

    private var full: AuthError {
        AuthError(.store, .store, "the disk is full", outcome: .notSent, isTemporary: true)
    }

    /// Writes the session if it has changed. If the disk is full, nothing changes. If the store is mute, this throws
    /// after the write.
    ///
    /// - Parameter hasRoom: Whether room was reserved.
    func write(_ changed: AuthStateRecord?, at now: Int, hasRoom: Bool) throws(AuthError) {
        guard changed != record else { return }
        guard hasRoom || now >= isFullUntil else { throw full }
        record = changed
        guard now >= isMuteUntil else {
            throw AuthError(.store, .store, "it is unknown whether it was stored", outcome: .notSent, isTemporary: true)
        }
    }

    // MARK: - The lock

    /// Waits for the lock.
    func lock(for life: Life, _ simulation: Simulation) async throws -> Grip {
        lastWaiter += 1
        let number = lastWaiter
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { continuation in
                guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
                waiters.append(Waiter(number: number, life: life, continuation: continuation))
                grantNext(simulation)
            }
        } onCancel: {
            guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
            waiters.remove(at: index).continuation.resume(throwing: CancellationError())
        }
    }

    func grant(to process: Int) -> Lock {
        lockNumber += 1
        let lock = Lock(process: process, number: lockNumber)
        holder = lock
        return lock
    }

    /// Grants the free lock to one of those that wait for it.
    func grantNext(_ simulation: Simulation) {
        let ready = waiters.indices.filter { !waiters[$0].life.isStopped }
        guard simulation.isLockFree, !ready.isEmpty else { return }
        let waiter = waiters.remove(at: ready[simulation.world.random.below(ready.count)])
        let grip = Grip(grant(to: waiter.life.process))
        // The kernel wakes the other process, which takes a moment.
        simulation.world.schedule(
            after: 0, for: waiter.life.host.process, cancel: { waiter.continuation.resume(throwing: Crash()) },
            { waiter.continuation.resume(returning: grip) })
    }

    func release(_ lock: Lock, _ simulation: Simulation) {
        guard holder === lock else { return }
        holder = nil
        grantNext(simulation)
    }

    /// Releases the lock of a dead process, as the kernel does, and forgets that it waits.
    func processDied(_ life: Life, _ simulation: Simulation) {
        let lost = waiters.filter { $0.life === life }
        waiters.removeAll { $0.life === life }
        simulation.world.run(as: life.host.process) {
            for waiter in lost { waiter.continuation.resume(throwing: Crash()) }
        }
        guard let holder, holder.process == life.process else { return }
        release(holder, simulation)
    }

    /// Releases the lock although its holder has not: the connection has ended, or the holder does not report.
    func loseLock(isNoticed: Bool, _ simulation: Simulation) {
        holder?.isLost = true
        if isNoticed { holder?.isHeld = false }
        holder = nil
        grantNext(simulation)
    }
}
