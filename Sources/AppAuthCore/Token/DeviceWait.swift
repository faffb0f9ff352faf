/// The wait for a person who enters a code elsewhere (RFC 8628 §3.4, §3.5).
public struct DeviceWait: Sendable {
    /// Lets time pass. Throws `CancellationError` at once when its task is cancelled. Tests put a clock of theirs here.
    public var sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    /// Told what the wait has come to, after each answer, from whatever thread.
    public var observe: @Sendable (DeviceAuthorization.Progress) -> Void = { _ in }

    /// Waits by the system's clock, and tells nobody.
    public init() {}

    /// Asks the token endpoint until the person has decided, until the code has expired, or until the task is cancelled.
    func tokens(
        for authorization: DeviceAuthorization, _ environment: Environment, _ proof: DPoP?
    ) async throws -> TokenResponse {
        let endpoint = TokenEndpoint(
            client: authorization.request.client, environment: environment, proof: proof)
        var polling = DevicePolling(interval: authorization.interval)
        var pause = polling.interval
        while true {
            try await pass(pause, within: authorization.term, environment)
            do {
                return try await endpoint.send(.deviceCode(authorization.deviceCode), stage: .token)
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

    /// Waits, but not longer than the code is good.
    private func pass(_ pause: Duration, within term: Term, _ environment: Environment) async throws {
        let left = term.remaining(at: environment.now())
        try await sleep(min(pause, left))
        // Looked at again, since the machine may have slept for longer. A pause that was cut short is never followed by
        // a question, whatever the clock says.
        guard pause < left, !term.isOver(at: environment.now()) else { throw AuthError.expiredCode() }
    }
}
