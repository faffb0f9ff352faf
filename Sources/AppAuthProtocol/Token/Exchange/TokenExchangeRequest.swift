internal import HTTPTypes

/// Exchanges a token for another (RFC 8693): one for another service, with less power, or for somebody who acts for
/// somebody else.
///
/// ```swift
/// let token = try await state.freshAccessToken()
/// var request = TokenExchangeRequest(of: SecurityToken(token.value, kind: .accessToken))
/// request.audience = ["https://orders.example.org"]
/// let exchanged = try await state.exchange(request)
/// ```
public struct TokenExchangeRequest: Sendable, Hashable {
    /// Whom the new token is about.
    public var subject: SecurityToken
    /// Who acts for them; nil if they act themselves (§1.1).
    public var actor: SecurityToken?
    /// What kind of token is wanted; nil leaves it to the server.
    public var requestedKind: SecurityToken.Kind?
    /// The services that the new token is for, by the names that the server knows.
    public var audience: [String] = []
    /// The same by their absolute URIs (RFC 8707).
    public var resources: [String] = []
    /// What the new token is to be good for; empty leaves it to the server.
    public var scope: [Scope] = []

    /// Exchanges a token for whatever the server gives for it.
    public init(of subject: SecurityToken, actor: SecurityToken? = nil) {
        (self.subject, self.actor) = (subject, actor)
    }

    /// Sends the request, with the client's authentication, and reads the response strictly.
    ///
    /// One POST, not repeated. Nothing is stored: what came is the caller's. For a session ``AuthState/exchange(_:)`` does
    /// the same; a client whose tokens are bound to a key (RFC 9449) has that key in its session alone.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error (`invalid_target` for a service that the token
    ///   cannot be for, §2.2.2), ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidMetadata``,
    ///   ``AuthError/Code/invalidConfiguration`` (also for a client with ``Client/dpop``), ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func send(as client: Client, in environment: Environment) async throws -> ExchangedToken {
        guard client.dpop == nil else {
            throw AuthError(
                .invalidConfiguration, .token,
                "expected a client with bearer tokens, found one whose tokens are bound to its session's key",
                outcome: .notSent)
        }
        return try await send(to: ClientEndpoint(client: client, environment: environment))
    }

    package func send(to endpoint: ClientEndpoint) async throws -> ExchangedToken {
        if let value = scope.first(where: { !$0.isWellFormed }) {
            throw AuthError(
                .invalidConfiguration, .token,
                "expected a scope value in visible ASCII without space, quote and backslash, found '\(value.rawValue)'",
                outcome: .notSent)
        }
        let url = try endpoint.client.require(.token)
        let response = try await endpoint.post(form, to: url, stage: .token)
        guard response.status == .ok else {
            throw response.oauthError(from: url, stage: .token)
        }
        return try ExchangedToken(
            response, expecting: endpoint.proof == nil ? .bearer : .dpop, received: endpoint.environment.now())
    }

    /// §2.1: `audience` and `resource` may be repeated, and a token never stands without its type.
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

/// What a token was exchanged for (RFC 8693 §2.2.1).
public struct ExchangedToken: Sendable, Hashable {
    /// The token, of whatever kind it is.
    public let value: Secret
    /// What it is. Not always what was asked for.
    public let kind: SecurityToken.Kind
    /// How it is presented to a resource, for example `Bearer`; nil if it is no access token (`N_A`).
    public let tokenType: String?
    /// When it was received.
    public let received: Timestamp
    /// How long it is good from then on; nil if the server did not say.
    public let lifetime: Duration?
    /// What it is good for; nil means what was asked for (§2.2.1).
    public let scope: [Scope]?
    /// What gets the next one, if the server gave such a thing.
    public let refreshToken: Secret?

    /// - Parameter expected: How an access token is presented that is bound as the request asked for.
    init(_ response: TransportResponse, expecting expected: TokenType, received: Timestamp) throws {
        let object = try ResponseObject(response) { message in
            AuthError(
                .invalidResponse, .token, "the token exchange response is refused: \(message)",
                outcome: .perhapsProcessed, httpStatus: HTTPResponse.Status.ok.code)
        }
        // §2.2.1: these three are REQUIRED; access_token is the name whatever the token is.
        value = try object.required("access_token") { try object.secret($0) }
        kind = SecurityToken.Kind(rawValue: try object.required("issued_token_type") { try object.text($0) })
        let type = try object.required("token_type") { try object.text($0) }
        // RFC 9449 §5: with a proof the token is bound to its key, without one to none.
        if let found = TokenType(wire: type), found != expected {
            throw object.refusal("expected the token type \(expected.rawValue), found '\(type)'")
        }
        tokenType = type.uppercased() == "N_A" ? nil : type
        self.received = received
        lifetime = try object.seconds("expires_in").map { .seconds($0) }
        scope = try object.string("scope").map([Scope].init(spaceDelimited:))
        refreshToken = try object.secret("refresh_token")
    }

    /// The token as one that can be presented to a resource; nil if it is none, or of a type that is not known here
    /// (RFC 6749 §7.1).
    public var accessToken: AccessToken? {
        guard let type = tokenType.flatMap(TokenType.init(wire:)) else { return nil }
        return AccessToken(value: value, type: type, received: received, lifetime: lifetime)
    }
}
