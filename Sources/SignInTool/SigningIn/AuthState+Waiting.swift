internal import AppAuth
internal import FoundationEssentials

extension AuthState {
    /// Waits until the tokens of the session that a sign-in has replaced are revoked, a few seconds at most. The result
    /// of the command is printed before, since the new session does not depend on it.
    func finishRevoking(before deadline: ContinuousClock.Instant) async {
        await settle(atMost: (deadline - .now).forWaits)
    }

    /// Gets a valid token, with retries until the deadline. If earlier refreshes have failed, it waits until the
    /// next attempt is due. If the store has rejected new tokens, it tries to store them again. An error of its own
    /// refresh is thrown at once.
    ///
    /// - Parameter get: Receives whether to refresh even if the token is valid.
    func patiently<Value: Sendable>(
        forceRefresh: Bool, until deadline: ContinuousClock.Instant, _ console: Console,
        get: (_ forceRefresh: Bool) async throws -> Value
    ) async throws -> Value {
        var forceRefresh = forceRefresh
        var hasSaid = false
        while true {
            do {
                return try await get(forceRefresh)
            } catch let error as AuthError {
                let wait: Duration
                if hasUnsavedTokens {
                    // The next call stores the tokens of this one.
                    (wait, forceRefresh) = (.milliseconds(250), false)
                } else if error.isHeldBack, let delay = error.retryDelay {
                    wait = delay + .milliseconds(10)
                } else {
                    throw error
                }
                guard ContinuousClock.now + wait < deadline else { throw error }
                if !hasSaid { console.explain("\(error.message); waiting…") }
                hasSaid = true
                try await Task.sleep(for: wait)
            }
        }
    }
}
