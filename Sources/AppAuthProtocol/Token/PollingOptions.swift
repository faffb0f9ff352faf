/// The wait for a person who approves a sign-in elsewhere: by a code that they enter (RFC 8628 §3.4, §3.5), or on their own
/// device (CIBA Core §10.1, §11).
public struct PollingOptions: Sendable {
    /// Lets time pass. Throws `CancellationError` at once when its task is cancelled. Tests put a clock of theirs here.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Told what the wait has come to, after each response, from whatever thread.
    public var observe: @Sendable (PollingOptions.Progress) -> Void = { _ in }

    /// Waits by the system's clock, and tells nobody.
    public init() {}

    /// Asks the token endpoint until the person has decided, until the time for that is over, or until the task is cancelled.
    package func tokens(
        _ request: TokenRequest, from endpoint: TokenEndpoint, every interval: Duration, within term: Term
    ) async throws -> TokenResponse {
        var polling = PollingSchedule(interval: interval)
        var pause = polling.interval
        while true {
            try await pass(pause, within: term, endpoint.environment)
            do {
                return try await endpoint.send(request, stage: .token)
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

    /// Waits, but not longer than the person may decide.
    private func pass(_ pause: Duration, within term: Term, _ environment: Environment) async throws {
        let left = term.remaining(at: environment.now())
        try await sleep(min(pause, left))
        // Looked at again, since the machine may have slept for longer. A pause that was cut short is never followed by
        // a question, whatever the clock says.
        guard pause < left, !term.isOver(at: environment.now()) else { throw AuthError.expiredApproval() }
    }
}
