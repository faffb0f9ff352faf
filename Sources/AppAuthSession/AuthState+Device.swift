public import AppAuthProtocol

extension AuthState {
    /// Waits until a person has approved the device elsewhere, verifies the ID token and stores the session.
    ///
    /// Asks the token endpoint in the rhythm that the provider gave, measured from the end of each response. A provider
    /// that cannot be reached is asked again, less and less often; only a response that means it, the code's expiry and
    /// cancellation end the wait. Then the provider's keys are fetched. RFC 8628 §3.4, §3.5; OpenID Connect Core
    /// §3.1.3.7, without a nonce, since this flow sends none.
    ///
    /// - Parameters:
    ///   - authorization: What ``DeviceAuthorizationRequest/send(in:)`` returned. Good for one session.
    ///   - store: Where the session goes. A session that is there is replaced at the end, if all went well.
    ///   - polling: How time passes between two requests, and what observes them.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own code,
    ///   ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/store``; `CancellationError`. Nothing is stored then.
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
            let verification = IDTokenVerification(client: request.client, environment: environment)
            // Without a nonce, since none was sent: a token that has one is not for this sign-in.
            let idToken = try await verification.idToken(
                of: tokens, scope: request.scope, IDTokenVerifier.Expectations())
            var record = try AuthStateRecord(client: request.client, scope: request.scope, proof: proof)
            record.merge(tokens, idToken: idToken, keys: verification.keys?.entry)
            return record
        }
        return AuthState(record: record, store: store, environment: environment, wasStored: true, proof: proof)
    }
}
