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
    ///   - polling: How to wait between two requests, and what observes them.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is stored.
    public static func awaitApproval(
        of authorization: DeviceAuthorization, store: any TokenStore, environment: Environment,
        polling: PollingOptions = PollingOptions()
    ) async throws -> AuthState {
        try await awaitApproval(of: authorization, store: store, environment: environment, polling: polling) { _ in }
    }

    /// - Parameter confirm: A last step before the session is stored.
    package static func awaitApproval(
        of authorization: DeviceAuthorization, store: any TokenStore, environment: Environment,
        polling: PollingOptions,
        confirm: (AuthState) async throws -> Void
    ) async throws -> AuthState {
        let request = authorization.request
        let proof = try DPoP(for: request.client)
        let tokens = try await polling.tokens(
            .deviceCode(authorization.deviceCode),
            from: TokenEndpoint(client: request.client, environment: environment, proof: proof),
            every: authorization.interval, within: authorization.term)
        let record = try await Self.begin(
            with: tokens, of: request.client, proof: proof, in: store, environment: environment, confirm: confirm
        ) {
            let verifier = JWTVerifier(client: request.client, environment: environment)
            // No nonce was sent, so an ID token that has one is not for this sign-in.
            let idToken = try await verifier.idToken(
                of: tokens, scope: request.scope, IDTokenVerifier.Expectations())
            var record = try AuthStateRecord(client: request.client, scope: request.scope, proof: proof)
            record.merge(tokens, idToken: idToken, keys: verifier.keys?.entry)
            return record
        }
        return AuthState(record: record, store: store, environment: environment, wasStored: true, proof: proof)
    }
}
