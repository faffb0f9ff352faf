public import AppAuthProtocol

extension AuthState {
    /// Returns the stored session of a client and its grant, or begins a new one with the grant if there is none that
    /// can be used. Sends nothing in the first case.
    ///
    /// For a program that acts for itself, this is all that is needed at each start:
    ///
    /// ```swift
    /// let state = try await AuthState.restoreOrPresent(
    ///     .clientCredentials(scope: ["orders:read"]), as: client, store: store, environment: .live)
    /// ```
    ///
    /// A stored session cannot be used if it has ended, if it belongs to another client or issuer, if the client's
    /// `dpop` is set and its tokens are not bound to a key, or if its access token has expired and it cannot be renewed.
    /// With the client credentials grant, it must also have begun by that grant and with the same scope, and with any
    /// other grant, it must not. A session that cannot be used is replaced. The grant of a user, for example a
    /// password, is not stored. So for such a grant, a stored session of this client is used even if it belongs to
    /// another user.
    ///
    /// - Parameters:
    ///   - grant: The grant to send if no stored session can be used.
    ///   - client: The current client. Its secret takes precedence over the stored one.
    ///   - store: The store for the session.
    /// - Throws: As ``present(_:as:store:environment:confirm:)``; ``AuthError/Code/store`` if the store cannot be read.
    public static func restoreOrPresent(
        _ grant: TokenGrant, as client: Client, store: any TokenStore, environment: Environment
    ) async throws -> AuthState {
        try await restoreOrPresent(
            grant, as: ClientConfiguration(client, environment: environment), store: store)
    }

    /// The same for a client whose provider's metadata is fetched only if no stored session can be used.
    ///
    /// - Parameter configuration: The current client. Its scope is not requested: the grant has its own.
    /// - Throws: As ``present(_:as:store:environment:confirm:)`` and ``ClientConfiguration/client(requiring:)``;
    ///   ``AuthError/Code/store`` if the store cannot be read.
    public static func restoreOrPresent(
        _ grant: TokenGrant, as configuration: ClientConfiguration, store: any TokenStore
    ) async throws -> AuthState {
        let repeatable = grant.isRepeatable ? grant : nil
        let stored = try await store.convertingErrors { try await store.load() }
        if let state = try restore(stored, as: configuration, with: repeatable, store: store) { return state }
        return try await present(
            grant, as: configuration.client(), store: store, if: Replaceable(stored),
            environment: configuration.environment)
    }

    /// Returns the stored session of a client, or nil if it cannot be used: if it has ended, if it belongs to another
    /// client or issuer, if its tokens are not bound to a key and the client's should be, or if its access token has
    /// expired and it cannot be renewed.
    ///
    /// - Parameter grant: The grant with which the session renews itself; nil if it has none.
    package static func restore(
        _ stored: AuthStateRecord?, as configuration: ClientConfiguration, with grant: TokenGrant? = nil,
        store: any TokenStore
    ) throws -> AuthState? {
        let environment = configuration.environment
        guard var record = stored,
            record.belongs(to: configuration.clientID, at: configuration.issuer), record.grant == grant,
            record.isUsable(at: environment.now()), configuration.dpop == nil || record.proofKey != nil,
            configuration.dpopKeyProvider.map({ record.proofKey?.isIn($0) == true }) ?? true
        else { return nil }
        // The app's current secret and metadata take precedence over the stored ones.
        record.use(try configuration.client(at: record.client.provider))
        return AuthState(stored: record, store: store, environment: environment)
    }

    /// Begins a session with a grant that needs no browser, verifies any ID token, and stores the session.
    ///
    /// Checks that the store can take a session. Sends one POST to the token endpoint, never a second one. A session of
    /// the client's own credentials, or of an assertion by its name, renews itself with the same grant. Any other session
    /// needs a refresh token for that. RFC 6749 §4.4, §4.5.
    ///
    /// An ID token is verified with the provider's keys, without a nonce. If the metadata names no keys, it is dropped.
    ///
    /// - Parameters:
    ///   - grant: The grant to send. It is stored only if the session renews itself with it.
    ///   - client: The client, with a provider that has a token endpoint.
    ///   - store: The store for the session. An existing session is replaced at the end, if everything succeeded.
    ///     One that another sign-in stores in the meantime, for something else or of another user, stays.
    ///   - confirm: A last step of the app before the session is stored. It may use the session.
    /// - Throws: ``AuthError``: the server's own code, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``, ``AuthError/Code/invalidMetadata``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/sessionReplaced``, ``AuthError/Code/store``; an error thrown by
    ///   `confirm`; `CancellationError`. In all these cases nothing is stored, and tokens are revoked as by
    ///   ``exchange(_:store:environment:confirm:)``.
    public static func present(
        _ grant: TokenGrant, as client: Client, store: any TokenStore, environment: Environment,
        confirm: (AuthState) async throws -> Void = { _ in }
    ) async throws -> AuthState {
        try await present(grant, as: client, store: store, if: nil, environment: environment, confirm: confirm)
    }

    /// As the public function, but replaces only certain sessions.
    package static func present(
        _ grant: TokenGrant, as client: Client, store: any TokenStore, if replaceable: Replaceable?,
        environment: Environment, confirm: (AuthState) async throws -> Void = { _ in }
    ) async throws -> AuthState {
        try await store.convertingErrors { try await store.prepare() }
        let proof = try await DPoP.new(for: client, in: environment)
        let endpoint = ClientEndpoint(client: client, environment: environment, proof: proof)
        return try await begin(
            as: client, proof: proof, in: store, if: replaceable, environment: environment, confirm: confirm,
            requested: {
                let whole = try await grant.withAssertion(for: client, in: environment, .token)
                return try await endpoint.send(.present(whole), stage: .token)
            }
        ) { tokens in
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
