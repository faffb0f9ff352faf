public import AppAuthProtocol

extension AuthState {
    /// Exchanges a token for another (RFC 8693), as the session's client.
    ///
    /// If the session's tokens are bound to a key, the request proves possession of it (RFC 9449 §5), and the new token
    /// is bound to the same key: send it with ``send(_:with:)``. One POST is sent and not repeated. Nothing is stored:
    /// the new token belongs to the caller.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/signInRequired`` after the session has ended; the server's own
    ///   code for an OAuth error (`invalid_target` for a service that the token cannot be for, §2.2.2),
    ///   ``AuthError/Code/invalidResponse`` (also for a token that is not bound as the session's are),
    ///   ``AuthError/Code/invalidMetadata``, ``AuthError/Code/invalidConfiguration``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func exchange(_ request: TokenExchangeRequest) async throws -> ExchangedToken {
        if let end = record.end { throw SessionRules.signInRequired(end.reason) }
        return try await request.send(
            to: ClientEndpoint(client: record.client, environment: environment, proof: proof))
    }

    /// Gets the provider's statement about the user for another authorization server, which accepts it in place of a sign-in
    /// (draft-ietf-oauth-identity-assertion-authz-grant §4.3): so one sign-in at an identity provider serves many resources.
    ///
    /// Exchanges the ID token, after a refresh if it has expired. Present the result there at once
    /// (``TokenGrant/jwtBearer(assertion:scope:resources:)``), or let each renewal get its own:
    ///
    /// ```swift
    /// environment.grantAssertion = { [state] demand in try await state.identityAssertion(for: demand) }
    /// let grant = try await TokenGrant.jwtBearer(
    ///     assertionNamed: "identity provider", about: AssertionDemand.User(state.freshIDToken()), resources: [url])
    /// let session = try await AuthState.present(grant, as: client, store: store, environment: environment)
    /// ```
    /// The provider decides which servers it vouches for users at, and for which client there.
    ///
    /// If the demand names another user than this session's, for example because the app has signed in again since, nothing
    /// is sent.
    ///
    /// - Throws: As ``freshIDToken(minimumValidity:)`` and ``exchange(_:)``; ``AuthError/Code/signInRequired`` for a demand
    ///   that names another user; ``AuthError/Code/invalidResponse`` for a token of another kind.
    public func identityAssertion(for demand: AssertionDemand) async throws -> Secret {
        // First, so that no end of the other user's session is reported.
        if let known = record.idToken { try demand.check(known) }
        let token = try await freshIDToken()
        try demand.check(token)
        var request = TokenExchangeRequest(of: SecurityToken(token.rawValue, kind: .idToken))
        request.requestedKind = .identityAssertion
        (request.audience, request.resources) = ([demand.client.provider.issuer.string], demand.resources)
        request.scope = demand.scope
        let exchanged = try await exchange(request)
        guard exchanged.kind == .identityAssertion else {
            throw AuthError(
                .invalidResponse, .token,
                "expected a token of the type \(SecurityToken.Kind.identityAssertion.rawValue), found "
                    + exchanged.kind.rawValue.foundText)
        }
        return exchanged.value
    }
}

extension AssertionDemand {
    /// Throws if the token is another user's. Its client does not matter: the provider decides at each exchange whether that
    /// client may have the statement, which is about the same user.
    fileprivate func check(_ token: IDToken) throws {
        let found = User(token)
        guard let user, user != found else { return }
        throw AuthError(
            .signInRequired, .token,
            "another user is signed in: \(found.foundText), not \(user.foundText)", outcome: .notSent)
    }
}
