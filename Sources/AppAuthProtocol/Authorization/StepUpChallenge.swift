internal import FoundationEssentials
internal import HTTPTypes
internal import JOSE

/// A resource's demand for another sign-in (RFC 9470 §3), for more scopes (RFC 6750 §3.1), or for other claims. A refresh
/// does not help, because it changes neither how and when the user signed in nor what the user granted.
///
/// ```swift
/// if let challenge = response.stepUpChallenge, await state.record.isOwnResource(url) {
///     signIn.options.meet(challenge)
///     signIn.additionalScope += challenge.scope
///     state = try await signIn.run(store: store)
/// }
/// ```
/// Any API can send one. Meet it only for the resources of the session, or for an API that the app trusts with such a
/// token: see ``AuthStateRecord/isOwnResource(_:)``.
public struct StepUpChallenge: Sendable, Hashable {
    /// The acceptable authentication contexts, in order of preference; empty if not given.
    public let acrValues: [String]
    /// The maximum age of the sign-in in seconds; nil if not given.
    public let maxAge: Int?
    /// The scopes that the request needs, which may be fewer than those of the session; empty if the resource does not
    /// name them. Its metadata may: see ``ProtectedResource/scope``. Request them in addition to the app's scopes, so
    /// that the session loses none: ``ClientConfiguration/additionalScope``.
    public let scope: [Scope]
    /// The claims that the provider should be asked for (OpenID Connect Core §5.5), a JSON object; nil if not given.
    public let claims: JSON?
}

extension TransportResponse {
    /// The resource's demand, if this is an `insufficient_user_authentication` response (RFC 9470 §3), an
    /// `insufficient_scope` response (RFC 6750 §3.1), or one of Microsoft's `insufficient_claims` with a JSON object in
    /// base64; otherwise nil.
    public var stepUpChallenge: StepUpChallenge? {
        guard status == .unauthorized || status == .forbidden else { return nil }
        let challenges = headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
            .filter { ["bearer", "dpop"].contains($0.scheme) }
        for parameters in challenges.map(\.parameters) {
            switch (parameters["error"], status) {
            case ("insufficient_user_authentication", .unauthorized): return StepUpChallenge(parameters)
            case ("insufficient_scope", .forbidden):
                let scope = [Scope](received: parameters["scope"] ?? "")
                return StepUpChallenge(acrValues: [], maxAge: nil, scope: scope, claims: nil)
            case ("insufficient_claims", .unauthorized):
                guard let claims = parameters["claims"].flatMap(JSON.init(objectInBase64:)) else { continue }
                return StepUpChallenge(acrValues: [], maxAge: nil, scope: [], claims: claims)
            default: continue
            }
        }
        return nil
    }
}

extension StepUpChallenge {
    fileprivate init(_ parameters: [String: String]) {
        // RFC 9470 §3: a number of seconds. Anything else counts as absent.
        let maxAge = parameters["max_age"].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
        self.init(
            acrValues: parameters["acr_values"]?.split(separator: " ").map(String.init) ?? [], maxAge: maxAge,
            scope: [], claims: nil)
    }
}

extension JSON {
    /// Reads an object in either alphabet of RFC 4648, with or without padding.
    fileprivate init?(objectInBase64 text: String) {
        let digits = text.replacing("-", with: "+").replacing("_", with: "/").prefix { $0 != "=" }
        let padding = String(repeating: "=", count: (4 - digits.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: digits + padding), let json = try? JSON(parsing: Array(data)),
            json.object != nil
        else { return nil }
        self = json
    }
}

extension AuthorizationRequest.Options {
    /// Requests the sign-in that a resource demands (RFC 9470 §4). The claims that the app requests are
    /// kept, except in a member (`id_token`, `userinfo` or `access_token`) that the resource's claims have too.
    ///
    /// The ID token is checked against it: its `auth_time`, and its `acr` if present.
    public mutating func meet(_ challenge: StepUpChallenge) {
        if !challenge.acrValues.isEmpty { (acrValues, acceptsOtherACR) = (challenge.acrValues, false) }
        if let age = challenge.maxAge { maxAge = age }
        guard let demanded = challenge.claims?.object else { return }
        var merged = claims?.object ?? .init()
        for member in demanded.members { merged[member.name] = member.value }
        claims = .object(merged)
    }
}

extension StepUpChallenge {
    /// Whether a person can be expected to read all of the demand, as it is.
    package func canBeShown(with scope: [Scope]) -> Bool {
        // What is invisible, or reorders text, is beyond ASCII. In ASCII, only these are shown as others: see `foundText`.
        let isAsShown = { (scalar: Unicode.Scalar) in
            (" "..."~").contains(scalar) && !"'\\`".unicodeScalars.contains(scalar)
        }
        let values = acrValues + [scope.spaceDelimited ?? "", claims?.serialized() ?? ""]
        return demand(scope).utf8.count <= 640
            && values.allSatisfy { !$0.contains("  ") && $0.unicodeScalars.allSatisfy(isAsShown) }
    }

    /// What the resource demands, for the user.
    package func demand(_ scope: [Scope]) -> String {
        var parts: [String] = []
        if !scope.isEmpty { parts.append("the scopes \((scope.spaceDelimited ?? "").foundText(atMost: .max))") }
        if !acrValues.isEmpty {
            let classes = acrValues.map { $0.foundText(atMost: .max) }
            parts.append("an authentication of the class \(classes.joined(separator: " or "))")
        }
        if let maxAge { parts.append("a sign-in that is at most \(maxAge) s old") }
        if let claims { parts.append("the claims \(claims.serialized().foundText(atMost: .max))") }
        return parts.isEmpty ? "it does not say why" : parts.joined(separator: ", ")
    }
}
