internal import HTTPTypes

/// A resource's demand for another sign-in (RFC 9470 §3). A refresh does not help, because it does not change how and
/// when the user signed in.
///
/// ```swift
/// if let challenge = response.stepUpChallenge {
///     signIn.options.meet(challenge)
///     state = try await signIn.run(store: store)
/// }
/// ```
public struct StepUpChallenge: Sendable, Hashable {
    /// The acceptable authentication contexts, in order of preference; empty if not given.
    public let acrValues: [String]
    /// The maximum age of the sign-in in seconds; nil if not given.
    public let maxAge: Int?
}

extension TransportResponse {
    /// The resource's demand, if this is an `insufficient_user_authentication` response (RFC 9470 §3); otherwise nil.
    public var stepUpChallenge: StepUpChallenge? {
        guard status == .unauthorized else { return nil }
        let challenges = headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
        let challenge = challenges.first {
            ["bearer", "dpop"].contains($0.scheme) && $0.parameters["error"] == "insufficient_user_authentication"
        }
        guard let parameters = challenge?.parameters else { return nil }
        // RFC 9470 §3: a number of seconds. Anything else counts as absent.
        let maxAge = parameters["max_age"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        return StepUpChallenge(
            acrValues: parameters["acr_values"]?.split(separator: " ").map(String.init) ?? [], maxAge: maxAge)
    }
}

extension AuthorizationRequest.Options {
    /// Requests the sign-in that a resource demands (RFC 9470 §4).
    ///
    /// The ID token is checked against it: its `auth_time`, and its `acr` if present.
    public mutating func meet(_ challenge: StepUpChallenge) {
        if !challenge.acrValues.isEmpty { (acrValues, acceptsOtherACR) = (challenge.acrValues, false) }
        if let age = challenge.maxAge { maxAge = age }
    }
}
