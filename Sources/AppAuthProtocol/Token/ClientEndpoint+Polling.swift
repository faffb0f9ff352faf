/// The progress of the wait until the user approves a sign-in elsewhere: by entering a code (RFC 8628 §3.5), or on their
/// own device (CIBA Core §11).
public enum PollingProgress: Sendable, Hashable {
    /// The user has not decided yet (`authorization_pending`).
    case waiting
    /// The provider asks for less frequent polls (`slow_down`). From now on, the pause between two polls is `interval`.
    case slowedDown(interval: Duration)
    /// The provider could not be reached or failed to respond. The wait continues after a pause.
    case connectionTrouble(AuthError, pause: Duration)
}

extension ClientEndpoint {
    /// Polls until the user has decided, the request has expired, or the task is cancelled.
    ///
    /// - Parameter observe: Receives the progress after each poll that does not end the wait.
    package func poll(
        _ request: TokenRequest, every interval: Duration, within term: Term, observe: (PollingProgress) -> Void
    ) async throws -> TokenResponse {
        var polling = PollingSchedule(interval: interval)
        var pause = polling.interval
        while true {
            try await pass(pause, within: term)
            do {
                return try await send(request, stage: .token)
            } catch let error as AuthError {
                switch polling.next(after: error) {
                case .poll(let after, let progress):
                    pause = after
                    observe(progress)
                case .end(let error): throw error
                }
            }
        }
    }

    /// Waits for a pause, but not beyond the end of the request.
    private func pass(_ pause: Duration, within term: Term) async throws {
        let left = term.remaining(at: environment.now())
        try await environment.sleep(min(pause, left))
        // The term is checked again, because the machine may have slept for longer. After a shortened pause, there is
        // never another poll, even if the clock still allows one.
        guard pause < left, !term.isOver(at: environment.now()) else { throw AuthError.expiredApproval() }
    }
}
