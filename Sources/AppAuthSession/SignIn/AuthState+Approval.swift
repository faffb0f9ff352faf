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
    ///     One that another sign-in stores in the meantime, for something else or of another user, stays.
    ///   - observe: Receives the progress after each poll that does not end the wait, on any thread.
    ///   - confirm: A last step of the app before the session is stored. It may use the session.
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/sessionReplaced``, ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is
    ///   stored.
    public static func awaitApproval(
        of authorization: DeviceAuthorization, store: any TokenStore, environment: Environment,
        observe: (PollingProgress) -> Void = { _ in }, confirm: (AuthState) async throws -> Void = { _ in }
    ) async throws -> AuthState {
        try await awaitApproval(of: PollingGrant(authorization), store, if: nil, environment, observe, confirm)
    }

    /// Polls the token endpoint, and begins a session with the tokens.
    package static func awaitApproval(
        of grant: PollingGrant, _ store: any TokenStore, if replaceable: Replaceable?, _ environment: Environment,
        _ observe: (PollingProgress) -> Void, _ confirm: (AuthState) async throws -> Void
    ) async throws -> AuthState {
        let client = grant.client
        let proof = try await DPoP.new(for: client, in: environment)
        let endpoint = ClientEndpoint(client: client, environment: environment, proof: proof)
        return try await begin(
            as: client, proof: proof, in: store, if: replaceable, environment: environment, confirm: confirm,
            requested: {
                try await endpoint.poll(grant.request, every: grant.interval, within: grant.term, observe: observe)
            }
        ) { tokens in
            let verifier = JWTVerifier(client: client, environment: environment)
            let idToken = try await verifier.idToken(of: tokens, scope: grant.scope, grant.expected)
            try grant.check(idToken)
            var record = try AuthStateRecord(client: client, scope: grant.scope, proof: proof)
            record.resources = grant.resources
            record.merge(tokens, idToken: idToken, keys: verifier.keys?.entry)
            return record
        }
    }
}
