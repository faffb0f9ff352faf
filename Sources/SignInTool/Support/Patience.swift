internal import AppAuth
internal import FoundationEssentials

extension AuthState {
    /// A token, for a caller that has time: it waits until refreshes are tried again after others have failed, and tries
    /// again to store what the disk had no room for. What goes wrong in a refresh of its own is an error at once.
    func patientAccessToken(
        minimumValidity: Duration?, forceRefresh: Bool, until deadline: ContinuousClock.Instant, _ console: Console
    ) async throws -> AccessToken {
        var forceRefresh = forceRefresh
        var hasSaid = false
        while true {
            do {
                return try await freshAccessToken(minimumValidity: minimumValidity, forceRefresh: forceRefresh)
            } catch let error as AuthError {
                let wait: Duration
                if hasUnsavedTokens {
                    // The next call stores what this one got.
                    (wait, forceRefresh) = (.milliseconds(250), false)
                } else if error.isHeldBack, let next = error.nextAttempt {
                    wait = .milliseconds(Int(max(0, next.timeIntervalSinceNow) * 1000) + 10)
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
