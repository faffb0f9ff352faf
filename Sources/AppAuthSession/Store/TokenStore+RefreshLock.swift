internal import AppAuthProtocol

extension TokenStore {
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
