public import AppAuthProtocol

extension AuthState {
    /// Begins a session with a grant that needs no browser, verifies any ID token, and stores the session.
    ///
    /// Sends one POST to the token endpoint, never a second one. A session of the client's own credentials renews
    /// itself with the same grant. Any other session needs a refresh token for that. RFC 6749 §4.4, §4.5.
    ///
    /// An ID token is verified with the provider's keys, without a nonce. If the metadata names no keys, it is dropped.
    ///
    /// - Parameters:
    ///   - grant: The grant to send. It is stored only if it is the client's own credentials.
    ///   - client: The client, with a provider that has a token endpoint.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    /// - Throws: ``AuthError``: the server's own code, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``, ``AuthError/Code/invalidMetadata``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/store``; `CancellationError`. In all these cases nothing is
    ///   stored.
    public static func present(
        _ grant: TokenGrant, as client: Client, store: any TokenStore, environment: Environment
    ) async throws -> AuthState {
        let proof = try DPoP(for: client)
        let tokens = try await TokenEndpoint(client: client, environment: environment, proof: proof)
            .send(.present(grant), stage: .token)
        return try await begin(
            with: tokens, of: client, proof: proof, in: store, environment: environment
        ) {
            let verifier = JWTVerifier(client: client, environment: environment)
            var idToken: IDToken?
            if let token = tokens.idToken, verifier.keys != nil {
                var expected = IDTokenVerifier.Expectations()
                expected.accessToken = tokens.accessToken
                idToken = try await verifier.idToken(token, expected, serverClock: tokens.serverClock)
            }
            var record = try AuthStateRecord(client: client, grant: grant, proof: proof)
            record.merge(tokens, idToken: idToken, keys: verifier.keys?.entry)
            return record
        }
    }
}
