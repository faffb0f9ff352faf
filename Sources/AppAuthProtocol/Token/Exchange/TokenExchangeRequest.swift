internal import JOSE

/// A request to exchange a token for another (RFC 8693): one for another service, with fewer rights, or for an actor on
/// behalf of a user.
///
/// ```swift
/// let token = try await state.freshAccessToken()
/// var request = TokenExchangeRequest(of: SecurityToken(token.value, kind: .accessToken))
/// request.audience = ["https://orders.example.org"]
/// let exchanged = try await state.exchange(request)
/// ```
public struct TokenExchangeRequest: Sendable, Hashable {
    /// The token of the party that the new token is about.
    public var subject: SecurityToken
    /// The token of the party that acts on the subject's behalf; nil if the subject acts itself (§1.1).
    public var actor: SecurityToken?
    /// The requested kind of token; nil leaves it to the server.
    public var requestedKind: SecurityToken.Kind?
    /// The services that the new token is for, by the names that the server uses.
    public var audience: [String] = []
    /// The absolute URIs of the services that the new token is for (RFC 8707).
    public var resources: [String] = []
    /// The requested scopes; empty leaves them to the server.
    public var scope: [Scope] = []

    /// Creates a request that leaves everything else to the server.
    public init(of subject: SecurityToken, actor: SecurityToken? = nil) {
        (self.subject, self.actor) = (subject, actor)
    }

    /// Sends the request with the client's authentication, and checks the response strictly.
    ///
    /// Sends one POST and never repeats it. The result is not stored. For a session, use ``AuthState/exchange(_:)``: if
    /// a client's tokens are bound to a key (RFC 9449), only the session has that key.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error (`invalid_target` for a service that the
    ///   token cannot be for, §2.2.2), ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidMetadata``,
    ///   ``AuthError/Code/invalidConfiguration`` (also for a client with ``Client/dpop``),
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func send(as client: Client, in environment: Environment) async throws -> ExchangedToken {
        guard client.dpop == nil else {
            throw AuthError(
                .invalidConfiguration, .token,
                "expected a client with bearer tokens, found one that binds its tokens to a DPoP key")
        }
        return try await send(to: ClientEndpoint(client: client, environment: environment))
    }

    package func send(to endpoint: ClientEndpoint) async throws -> ExchangedToken {
        try scope.check(for: .token)
        return try ExchangedToken(
            await endpoint.send(form, stage: .token), expecting: endpoint.expectedType,
            received: endpoint.environment.now())
    }

    /// §2.1: `audience` and `resource` may be repeated, and each token comes with its type.
    private var form: FormParameters {
        var form = FormParameters()
        form.append("grant_type", GrantType.tokenExchange.rawValue)
        form.append("subject_token", subject.value.reveal())
        form.append("subject_token_type", subject.kind.rawValue)
        form.append("actor_token", actor?.value.reveal())
        form.append("actor_token_type", actor?.kind.rawValue)
        form.append("requested_token_type", requestedKind?.rawValue)
        for name in audience { form.append("audience", name) }
        for uri in resources { form.append("resource", uri) }
        form.append("scope", scope.spaceDelimited)
        return form
    }
}

/// The result of a token exchange (RFC 8693 §2.2.1).
public struct ExchangedToken: Sendable, Hashable {
    /// The token, of any kind.
    public let value: Secret
    /// The kind of token, which may differ from the requested one.
    public let kind: SecurityToken.Kind
    /// How the token is presented to a resource, for example `Bearer`; nil if it is not an access token (`N_A`).
    public let tokenType: String?
    /// When the token was received.
    public let received: Timestamp
    /// How long the token is valid from receipt; nil if the server did not say.
    public let lifetime: Duration?
    /// The granted scopes; nil if they are the requested ones (§2.2.1).
    public let scope: [Scope]?
    /// A refresh token for the new token, if the server issued one.
    public let refreshToken: Secret?

    /// - Parameter expected: The type of an access token with the binding that the request asked for.
    init(_ response: TransportResponse, expecting expected: TokenType, received: Timestamp) throws {
        let object = try ResponseObject(accepted: response, as: "token exchange response", stage: .token)
        // §2.2.1: these three are REQUIRED. The member is named access_token for every kind of token.
        value = try object.required("access_token") { try object.secret($0) }
        kind = SecurityToken.Kind(rawValue: try object.required("issued_token_type") { try object.text($0) })
        let type = try object.required("token_type") { try object.text($0) }
        if let found = TokenType(wire: type), found != expected {
            throw object.refusal("expected the token type \(expected.rawValue), found \(type.foundText)")
        }
        tokenType = type.uppercased() == "N_A" ? nil : type
        self.received = received
        lifetime = try object.seconds("expires_in", clamped: true).map { .seconds($0) }
        scope = try object.scope()
        refreshToken = try object.secret("refresh_token")
    }

    /// The token as an access token; nil if it is not one, or has an unknown type (RFC 6749 §7.1).
    public var accessToken: AccessToken? {
        guard let type = tokenType.flatMap(TokenType.init(wire:)) else { return nil }
        return AccessToken(value: value, type: type, received: received, lifetime: lifetime)
    }
}
