internal import JOSE

/// What the browser is sent to the provider with (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1), and what the response is
/// checked against.
///
/// Each request has a state, a nonce and a PKCE pair of its own, each of 256 random bits, and serves one sign-in.
///
/// ```swift
/// let request = try await AuthorizationRequest(client: client, redirectURI: listener.redirectURI)
///     .prepared(in: environment)
/// try await Browser.system.open(request.url)
/// ```
public struct AuthorizationRequest: Sendable {
    /// The client that asks.
    public let client: Client
    /// Where the provider sends the browser back to.
    public let redirectURI: String
    /// What is asked for.
    public let scope: [Scope]
    /// What else was asked.
    public let options: Options
    /// Binds the response to this request (RFC 6749 §10.12).
    public let state: Secret
    /// Binds the ID token to this request (Core §15.5.2); nil without the scope `openid`.
    public let nonce: Secret?
    /// Binds the code to this request (RFC 7636).
    public let pkce: PKCE
    /// The key that the session's tokens are bound to (RFC 9449); nil for bearer tokens.
    package let proof: DPoP?
    /// Everything that is asked.
    package let parameters: FormParameters
    /// What the browser carries: the parameters, or what stands for them.
    private(set) var carried: FormParameters
    private let endpoint: SecureURL

    /// The URL for the browser. It holds the state and may hold what the person's name is: show it to the person alone.
    public var url: String { endpoint.appending(carried) }

    /// Makes a request. Sends nothing: ``prepared(in:)`` does what the provider or the options want beyond that.
    ///
    /// - Parameters:
    ///   - scope: With `openid` the flow is OpenID Connect, without it OAuth alone.
    ///   - options: Everything else; see ``Options``.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no authorization endpoint, or
    ///   names the response modes that it has and not this one; ``AuthError/Code/invalidConfiguration`` for an extra
    ///   parameter that the library sets itself, or one given twice, for a scope value with a space or another character
    ///   that none may have, and for a client id that is empty.
    public init(
        client: Client, redirectURI: String, scope: [Scope] = [.openID, .profile, .offlineAccess],
        options: Options = Options()
    ) throws {
        try self.init(
            client: client, redirectURI: redirectURI, scope: scope, options: options, state: Secret(randomBytes: 32),
            nonce: scope.contains(.openID) ? Secret(randomBytes: 32) : nil, pkce: PKCE(), proof: DPoP(for: client))
    }

    package init(
        client: Client, redirectURI: String, scope: [Scope], options: Options, state: Secret, nonce: Secret?,
        pkce: PKCE, proof: DPoP? = nil
    ) throws {
        try Self.check(client, scope)
        let options = try options.withTypedParameters()
        try options.checkResponseType(scope)
        (self.client, self.redirectURI, self.scope, self.options) = (client, redirectURI, scope, options)
        (self.state, self.nonce, self.pkce, self.proof) = (state, nonce, pkce, proof)
        endpoint = try client.provider.require(.authorization)
        if let mode = options.responseMode?.rawValue, let known = client.provider.responseModes, !known.contains(mode) {
            throw AuthError(
                .invalidMetadata, .authorization,
                "expected the provider to support the response mode \(mode), found \(known.joined(separator: ", "))",
                outcome: .notSent)
        }
        var parameters = FormParameters()
        parameters.append("response_type", options.responseType.rawValue)
        parameters.append("client_id", client.id)
        parameters.append("redirect_uri", redirectURI)
        parameters.append("scope", scope.spaceDelimited)
        parameters.append("state", state.reveal())
        parameters.append("nonce", nonce?.reveal())
        parameters.append("code_challenge", pkce.codeChallenge)
        parameters.append("code_challenge_method", "S256")
        // RFC 9449 §10: the code is good for the holder of this key alone.
        parameters.append("dpop_jkt", proof?.key.thumbprint)
        try options.append(to: &parameters, scope: scope)
        try Self.requireEachOnce(parameters, endpoint)
        (self.parameters, carried) = (parameters, parameters)
    }

    /// The same request, for which the browser carries something else.
    func carrying(_ carried: FormParameters) -> AuthorizationRequest {
        var request = self
        request.carried = carried
        return request
    }

    /// RFC 6749 §2.2, §3.3: a scope that the server splits in another way than we do would ask for something else.
    private static func check(_ client: Client, _ scope: [Scope]) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .authorization, message, outcome: .notSent)
        }
        guard !client.id.isEmpty else { throw refusal("expected a client id, found an empty one") }
        if let value = scope.first(where: { !$0.isWellFormed }) {
            throw refusal(
                "expected a scope value in visible ASCII without space, quote and backslash, found '\(value.rawValue)'")
        }
    }

    /// RFC 6749 §3.1: no parameter twice, also not with the endpoint's own query; RFC 8707 §2 allows it for resource.
    private static func requireEachOnce(_ parameters: FormParameters, _ endpoint: SecureURL) throws {
        let existing = endpoint.query.flatMap { FormParameters(decoding: $0) } ?? FormParameters()
        var seen: Set<String> = []
        for item in existing.items + parameters.items where item.name != "resource" {
            guard seen.insert(item.name).inserted else {
                throw AuthError(
                    .invalidConfiguration, .authorization, "the parameter '\(item.name)' is given twice",
                    outcome: .notSent)
            }
        }
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomReflectable {
    /// Names client and provider alone, since ``url`` holds the state.
    public var description: String { "authorization request of '\(client.id)' to \(client.provider.issuer)" }
    /// Shows no children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
