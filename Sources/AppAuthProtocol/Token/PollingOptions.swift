/// Options for the wait until the user approves a sign-in elsewhere: by entering a code (RFC 8628 §3.4, §3.5), or on
/// their own device (CIBA Core §10.1, §11).
public struct PollingOptions: Sendable {
    /// Waits for a duration. Throws `CancellationError` at once if its task is cancelled. Tests can replace it.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Receives the progress after each poll that does not end the wait, on any thread.
    public var observe: @Sendable (PollingOptions.Progress) -> Void = { _ in }

    /// Creates options that use the system's clock and report nothing.
    public init() {}

    /// Polls the token endpoint until the user has decided, the request has expired, or the task is cancelled.
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

    /// Waits for a pause, but not beyond the end of the request.
    private func pass(_ pause: Duration, within term: Term, _ environment: Environment) async throws {
        let left = term.remaining(at: environment.now())
        try await sleep(min(pause, left))
        // The term is checked again, because the machine may have slept for longer. After a shortened pause, there is
        // never another poll, even if the clock still allows one.
        guard pause < left, !term.isOver(at: environment.now()) else { throw AuthError.expiredApproval() }
    }
}
