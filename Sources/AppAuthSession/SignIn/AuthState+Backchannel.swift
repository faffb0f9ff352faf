public import AppAuthProtocol

extension AuthState {
    /// Waits until the user has approved the sign-in on their own device, verifies the ID token and stores the session.
    ///
    /// Polls the token endpoint at the interval that the provider gave, as for a device whose code the user enters
    /// elsewhere (``awaitApproval(of:store:environment:polling:)-(DeviceAuthorization,_,_,_)``). CIBA Core §10.1, §11;
    /// OpenID Connect Core §3.1.3.7, without a nonce, since this flow sends none.
    ///
    /// - Parameters:
    ///   - authentication: The result of ``BackchannelAuthenticationRequest/send(in:)``. Good for one session.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    ///   - polling: How to wait between two requests, and what observes them.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is stored.
    public static func awaitApproval(
        of authentication: BackchannelAuthentication, store: any TokenStore, environment: Environment,
        polling: PollingOptions = PollingOptions()
    ) async throws -> AuthState {
        let request = authentication.request
        let proof = try DPoP(for: request.client)
        let tokens = try await polling.tokens(
            .ciba(authentication.authReqID),
            from: TokenEndpoint(client: request.client, environment: environment, proof: proof),
            every: authentication.interval, within: authentication.term)
        let record = try await Self.begin(
            with: tokens, of: request.client, proof: proof, in: store, environment: environment
        ) {
            let verifier = JWTVerifier(client: request.client, environment: environment)
            var expected = IDTokenVerifier.Expectations()
            expected.acrValues = request.options.acrValues
            let idToken = try await verifier.idToken(of: tokens, scope: request.scope, expected)
            try idToken?.check(against: authentication)
            var record = try AuthStateRecord(client: request.client, scope: request.scope, proof: proof)
            record.merge(tokens, idToken: idToken, keys: verifier.keys?.entry)
            return record
        }
        return AuthState(record: record, store: store, environment: environment, wasStored: true, proof: proof)
    }
}

extension IDToken {
    /// Checks what this flow adds to the verification.
    fileprivate func check(against authentication: BackchannelAuthentication) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidIDToken, .idToken, "invalid ID token: \(message)")
        }
        // CIBA Core §10.3.1: if the ID token has the claim, it must be the one of this authentication.
        if let id = claims["urn:openid:params:jwt:claim:auth_req_id"],
            id.string.map(Secret.init) != authentication.authReqID
        {
            throw refusal("expected the 'auth_req_id' of this authentication, found another")
        }
        // §7.1: the ID token must be about the user in the hint.
        if case .idToken(let hint) = authentication.request.hint, !subject.isExactly(hint.subject) {
            throw refusal("expected the 'sub' of the ID token that was sent as a hint, found another")
        }
    }
}

extension TokenRequest {
    /// Creates the token request of CIBA Core §10.1.
    fileprivate static func ciba(_ authReqID: Secret) -> TokenRequest {
        TokenRequest(.ciba, [("auth_req_id", authReqID.reveal())])
    }
}
