internal import AppAuthProtocol

extension TokenStore {
    /// Waits for the refresh lock until a deadline.
    ///
    /// - Parameters:
    ///   - end: The deadline.
    ///   - limit: The length of the whole wait, for the error message.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    func refreshLock(until end: SuspendingClock.Instant, _ limit: Duration) async throws -> RefreshLock {
        try await withThrowingTaskGroup(of: RefreshLock.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await convertingErrors { try await refreshLock() } }
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
            "\(location) could not be refreshed within \(Int(limit.seconds.rounded(.up))) s: \(holder) is refreshing "
                + "it. That process is waiting for the server, is suspended, for example with Ctrl-Z, or cannot "
                + "store its new tokens",
            outcome: .notSent, isTemporary: true)
        error.storeProblem = .busy
        return error
    }
}
