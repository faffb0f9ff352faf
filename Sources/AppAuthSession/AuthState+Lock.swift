package import AppAuthProtocol

/// How long the refresh of another process, or of another caller here, is waited for.
package struct LockPatience: Sendable {
    /// How often the store is looked at meanwhile.
    package var pause: Duration
    /// How long it may take: longer than most refreshes whose every request times out.
    package var limit: Duration

    package init(pause: Duration = .seconds(2), limit: Duration = .seconds(120)) {
        (self.pause, self.limit) = (pause, limit)
    }
}

extension Environment {
    /// How long the refresh of another process is waited for.
    package var lockPatience: LockPatience {
        get { self[LockPatience.self] }
        set { self[LockPatience.self] = newValue }
    }

    /// Passes time before something that was refused is tried again.
    package var sleep: @Sendable (Duration) async throws -> Void {
        get { self[Sleep.self].pass }
        set { self[Sleep.self].pass = newValue }
    }
}

extension LockPatience: EnvironmentKey {
    package static var defaultValue: LockPatience { LockPatience() }
}

private struct Sleep: EnvironmentKey, Sendable {
    var pass: @Sendable (Duration) async throws -> Void

    static let defaultValue = Sleep { try await Task.sleep(for: $0) }
}

extension AuthState {
    /// What comes of a wait for the right to present the refresh token.
    enum Turn: Sendable {
        /// The lock, and the turn: whoever comes next here has it while the lock is still kept with what is not stored.
        case held(RefreshLock, turn: RefreshLock)
        case decided(SessionRules.Decision)
    }

    /// Waits for the turn among the callers of this process, and then for the lock of the store, but not for ever: whoever
    /// holds it may be stopped, or may hold it with new tokens that the store does not take.
    ///
    /// - Parameter look: Looks every few seconds whether the lock is still needed.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    func turn(orElse look: @escaping @Sendable () async throws -> SessionRules.Decision) async throws -> Turn {
        try await withThrowingTaskGroup(of: Turn.self) { group in
            // Whichever comes too late is let go of when nobody has it any more.
            defer { group.cancelAll() }
            group.addTask { [self] in try await lockInTurn() }
            group.addTask { [self] in .decided(try await decision(meanwhile: look)) }
            while let turn = try await group.next() { return turn }
            throw CancellationError()
        }
    }

    /// One at a time here, before the lock is asked for: what the store refused is tried again first, and holds it.
    private func lockInTurn() async throws -> Turn {
        let turn = try await turns.wait()
        try await storeUnsaved()
        let lock = try await store.attempt(expectsSession: wasStored) { [store] in try await store.refreshLock() }
        return .held(lock, turn: turn)
    }

    private func decision(
        meanwhile look: @Sendable () async throws -> SessionRules.Decision
    ) async throws -> SessionRules.Decision {
        let patience = environment.lockPatience
        // A machine that sleeps lets nobody go on.
        let end = SuspendingClock.now + patience.limit
        while SuspendingClock.now < end {
            try await Task.sleep(for: min(patience.pause, SuspendingClock.now.duration(to: end)), clock: .suspending)
            // What cannot be read now may be read the next time. Nobody is asked to unlock anything every few seconds.
            let decision = try? await TokenStoreCall.$isUnattended.withValue(true) { try await look() }
            guard let decision else { continue }
            if case .waitForLock = decision.action { continue }
            return decision
        }
        throw await store.lockIsHeld(for: patience.limit)
    }
}

extension TokenStore {
    /// Waits for the refresh lock, but not for ever.
    ///
    /// - Parameters:
    ///   - end: Until when.
    ///   - limit: How long that was from the beginning.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    func refreshLock(until end: SuspendingClock.Instant, _ limit: Duration) async throws -> RefreshLock {
        try await withThrowingTaskGroup(of: RefreshLock.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await attempt { try await refreshLock() } }
            group.addTask {
                try await Task.sleep(until: end, clock: .suspending)
                throw await lockIsHeld(for: limit)
            }
            while let lock = try await group.next() { return lock }
            throw CancellationError()
        }
    }

    fileprivate func lockIsHeld(for limit: Duration) async -> AuthError {
        let holder = await refreshLockHolder() ?? "another process"
        var error = AuthError(
            .store, .store,
            "\(location) could not be refreshed within \(Int(limit.seconds.rounded(.up))) s: \(holder) is refreshing it. It waits "
                + "for the server, is stopped, or cannot store its new tokens",
            outcome: .notSent, isTemporary: true)
        error.storeProblem = .busy
        return error
    }
}
