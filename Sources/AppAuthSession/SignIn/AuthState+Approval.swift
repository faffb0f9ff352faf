public import AppAuthProtocol

extension AuthState {
    /// Waits until the user has approved the device elsewhere, verifies the ID token and stores the session.
    ///
    /// Polls the token endpoint at the interval that the provider gave, measured from the end of each response. If the
    /// provider cannot be reached, it is polled less and less often. Only a definite response, the expiry of the code
    /// or cancellation ends the wait. Then the provider's keys are fetched. RFC 8628 §3.4, §3.5; OpenID Connect Core
    /// §3.1.3.7, without a nonce, since this flow sends none.
    ///
    /// - Parameters:
    ///   - authorization: The result of ``DeviceAuthorizationRequest/send(in:)``. Good for one session.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    ///   - observe: Receives the progress after each poll that does not end the wait, on any thread.
    ///   - confirm: A last step of the app before the session is stored. It may use the session.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is stored.
    public static func awaitApproval(
        of authorization: DeviceAuthorization, store: any TokenStore, environment: Environment,
        observe: (PollingProgress) -> Void = { _ in }, confirm: (AuthState) async throws -> Void = { _ in }
    ) async throws -> AuthState {
        try await awaitApproval(
            .deviceCode(authorization.deviceCode), of: authorization.request.client, authorization.request.scope,
            every: authorization.interval, within: authorization.term, store, environment, observe, confirm: confirm)
    }

    /// Waits until the user has approved the sign-in on their own device, verifies the ID token and stores the session.
    ///
    /// Polls the token endpoint at the interval that the provider gave, as for a device whose code the user enters
    /// elsewhere (``awaitApproval(of:store:environment:observe:confirm:)``). CIBA Core §10.1, §11;
    /// OpenID Connect Core §3.1.3.7, without a nonce, since this flow sends none.
    ///
    /// - Parameters:
    ///   - authentication: The result of ``BackchannelAuthenticationRequest/send(in:)``. Good for one session.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    ///   - observe: Receives the progress after each poll that does not end the wait, on any thread.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is stored.
    public static func awaitApproval(
        of authentication: BackchannelAuthentication, store: any TokenStore, environment: Environment,
        observe: (PollingProgress) -> Void = { _ in }
    ) async throws -> AuthState {
        let request = authentication.request
        var expected = IDTokenVerifier.Expectations()
        expected.acrValues = request.options.acrValues
        return try await awaitApproval(
            .ciba(authentication.authReqID), of: request.client, request.scope, expected,
            every: authentication.interval, within: authentication.term, store, environment, observe,
            check: { idToken in try idToken?.check(against: authentication) })
    }

    /// Polls the token endpoint, and begins a session with the tokens.
    ///
    /// - Parameters:
    ///   - expected: The values for the ID token. No nonce was sent, so an ID token that has one is not for this
    ///     sign-in.
    ///   - check: Checks what the flow adds to the verification of the ID token.
    private static func awaitApproval(
        _ poll: TokenRequest, of client: Client, _ scope: [Scope],
        _ expected: IDTokenVerifier.Expectations = IDTokenVerifier.Expectations(),
        every interval: Duration, within term: Term, _ store: any TokenStore, _ environment: Environment,
        _ observe: (PollingProgress) -> Void, confirm: (AuthState) async throws -> Void = { _ in },
        check: (IDToken?) throws -> Void = { _ in }
    ) async throws -> AuthState {
        let proof = try DPoP(for: client)
        let endpoint = TokenEndpoint(client: client, environment: environment, proof: proof)
        return try await begin(
            as: client, proof: proof, in: store, environment: environment, confirm: confirm,
            requested: { try await endpoint.poll(poll, every: interval, within: term, observe: observe) }
        ) { tokens in
            let verifier = JWTVerifier(client: client, environment: environment)
            let idToken = try await verifier.idToken(of: tokens, scope: scope, expected)
            try check(idToken)
            var record = try AuthStateRecord(client: client, scope: scope, proof: proof)
            record.merge(tokens, idToken: idToken, keys: verifier.keys?.entry)
            return record
        }
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
