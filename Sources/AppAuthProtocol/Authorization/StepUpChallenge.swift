internal import HTTPTypes

/// What a resource wants to know of the person's sign-in before it answers (RFC 9470 §3): a new one is needed, since no
/// refresh changes how and when the person signed in.
///
/// ```swift
/// if let challenge = response.stepUpChallenge {
///     signIn.options.meet(challenge)
///     state = try await signIn.run(store: store)
/// }
/// ```
public struct StepUpChallenge: Sendable, Hashable {
    /// The authentication contexts that would do, the preferred one first; empty if it does not say.
    public let acrValues: [String]
    /// How many seconds ago the person may have signed in; nil if it does not say.
    public let maxAge: Int?
}

extension TransportResponse {
    /// What the resource demands, if this is its response `insufficient_user_authentication` (RFC 9470 §3); nil otherwise.
    public var stepUpChallenge: StepUpChallenge? {
        guard status == .unauthorized else { return nil }
        let challenges = headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
        let challenge = challenges.first {
            ["bearer", "dpop"].contains($0.scheme) && $0.parameters["error"] == "insufficient_user_authentication"
        }
        guard let parameters = challenge?.parameters else { return nil }
        // RFC 9470 §3: a number of seconds; what is none demands nothing.
        let maxAge = parameters["max_age"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        return StepUpChallenge(
            acrValues: parameters["acr_values"]?.split(separator: " ").map(String.init) ?? [], maxAge: maxAge)
    }
}

extension AuthorizationRequest.Options {
    /// Asks for the sign-in that a resource demands (RFC 9470 §4).
    ///
    /// The ID token is checked for it: its `auth_time`, and its `acr` where it has one.
    public mutating func meet(_ challenge: StepUpChallenge) {
        if !challenge.acrValues.isEmpty { acrValues = challenge.acrValues }
        if let age = challenge.maxAge { maxAge = age }
    }
}
