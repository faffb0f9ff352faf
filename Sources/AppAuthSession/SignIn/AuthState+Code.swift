public import AppAuthProtocol

extension AuthState {
    /// Exchanges an authorization code for tokens, verifies the ID token and stores the session.
    ///
    /// The signed parts of the provider's response are verified first. One POST goes to the token endpoint, never a
    /// second one, since a code is good once. (The exception is a server that demands another proof of the key, RFC
    /// 9449 §8, and has not read the code yet.) RFC 6749 §4.1.3, RFC 7636 §4.5, OpenID Connect Core §3.1.3.
    ///
    /// - Parameters:
    ///   - response: The result of ``AuthorizationRequest/response(fromQuery:)``.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    ///     One that another sign-in stores in the meantime, for something else or of another user, stays.
    ///   - confirm: A last step of the app before the session is stored. It may use the session.
    /// - Throws: ``AuthError``: the server's own code, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/sessionReplaced``, ``AuthError/Code/store``; an error thrown by `confirm`; `CancellationError`.
    ///   In all these cases nothing is stored. Tokens that have arrived are revoked, except if the ID token was rejected,
    ///   or if the stored session may be the same user's: several providers would end that session too.
    public static func exchange(
        _ response: AuthorizationResponse, store: any TokenStore, environment: Environment,
        confirm: (AuthState) async throws -> Void = { _ in }
    ) async throws -> AuthState {
        try await exchange(response, store: store, if: nil, environment: environment, confirm: confirm)
    }

    /// As the public function, but replaces only certain sessions.
    package static func exchange(
        _ response: AuthorizationResponse, store: any TokenStore, if replaceable: Replaceable?,
        environment: Environment,
        confirm: (AuthState) async throws -> Void
    ) async throws -> AuthState {
        let request = response.request
        let verifier = JWTVerifier(client: request.client, environment: environment)
        let grant = try await response.grant(verifiedBy: verifier)
        let early = try await verifier.idToken(with: grant, for: request)
        let endpoint = ClientEndpoint(client: request.client, environment: environment, proof: request.proof)
        return try await begin(
            as: request.client, proof: request.proof, in: store, if: replaceable, environment: environment,
            confirm: confirm,
            requested: { try await endpoint.send(.exchange(grant, request), stage: .token) }
        ) { tokens in
            let idToken = try await verifier.idToken(
                of: tokens, scope: request.scope, IDTokenVerifier.Expectations(request: request))
            try idToken?.requireSameUser(as: early)
            return try AuthStateRecord(
                request: request, response: tokens, idToken: idToken, keys: verifier.keys?.entry)
        }
    }
}
