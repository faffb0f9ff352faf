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

    func lockIsHeld(for limit: Duration) async -> AuthError {
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
