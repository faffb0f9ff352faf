public import AppAuthProtocol

extension AuthState {
    /// Waits until the person has approved the sign-in on their own device, verifies the ID token and stores the session.
    ///
    /// Asks the token endpoint in the rhythm that the provider gave, as for a device that waits for a code to be entered
    /// (``awaitApproval(of:store:environment:polling:)-(DeviceAuthorization,_,_,_)``). CIBA Core §10.1, §11; OpenID Connect Core
    /// §3.1.3.7, without a nonce, since this flow sends none.
    ///
    /// - Parameters:
    ///   - authentication: What ``BackchannelAuthenticationRequest/send(in:)`` returned. Good for one session.
    ///   - store: Where the session goes. A session that is there is replaced at the end, if all went well.
    ///   - polling: How time passes between two requests, and what observes them.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own code,
    ///   ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/store``; `CancellationError`. Nothing is stored then.
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
            let verification = IDTokenVerification(client: request.client, environment: environment)
            var expected = IDTokenVerifier.Expectations()
            expected.acrValues = request.options.acrValues
            let idToken = try await verification.idToken(of: tokens, scope: request.scope, expected)
            try idToken?.check(against: authentication)
            var record = try AuthStateRecord(client: request.client, scope: request.scope, proof: proof)
            record.merge(tokens, idToken: idToken, keys: verification.keys?.entry)
            return record
        }
        return AuthState(record: record, store: store, environment: environment, wasStored: true, proof: proof)
    }
}

extension IDToken {
    /// What this flow adds to the verification.
    fileprivate func check(against authentication: BackchannelAuthentication) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidIDToken, .idToken, "the ID token is refused: \(message)")
        }
        // CIBA Core §10.3.1: where it stands there, it is the one of this authentication.
        if let id = claims["urn:openid:params:jwt:claim:auth_req_id"],
            id.string.map(Secret.init) != authentication.authReqID
        {
            throw refusal("expected the 'auth_req_id' of this authentication, found another")
        }
        // §7.1: whoever the hint is about, and nobody else.
        if case .idToken(let hint) = authentication.request.hint, !subject.isExactly(hint.subject) {
            throw refusal("expected the 'sub' of the ID token that was sent as a hint, found another")
        }
    }
}

extension TokenRequest {
    /// CIBA Core §10.1.
    fileprivate static func ciba(_ authReqID: Secret) -> TokenRequest {
        TokenRequest(.ciba, [("auth_req_id", authReqID.reveal())])
    }
}
