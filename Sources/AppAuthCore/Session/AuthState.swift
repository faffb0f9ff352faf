internal import FoundationEssentials
internal import JOSE
internal import Logging

/// A signed-in session: what an app keeps.
///
/// It exchanges the code, gives out access tokens that are valid, refreshes them when needed, keeps the verified ID
/// token, authenticates requests and signs out. A new token is in the store before anybody gets it.
///
/// Safe to share: however many callers need a token at once, one refresh is made for all of them, and a caller that is
/// cancelled does not cancel it for the others.
///
/// ```swift
/// if let state = try await AuthState(restoring: store, environment: .live) {
///     let token = try await state.freshAccessToken()
/// }
/// ```
public actor AuthState {
    /// The session as it stands: claims, scope, expiry, and whether and why it ended.
    public private(set) var record: AuthStateRecord { didSet { changes += 1 } }

    let environment: Environment
    private let store: any TokenStore
    private let keys: KeySetCache?
    private let refreshing = SingleFlight<AccessToken>()
    private let writing = SingleFlight<Void>()
    /// How often the record has changed, and how many of these changes the store has.
    private var changes = 0
    private var savedChanges = 0
    /// How many of them the last write held, whether the store took it or not.
    private var writtenChanges = 0
    private var isForgotten = false

    /// Takes up a session that was stored; nil if there is none. Sends nothing.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store cannot be read or holds something else.
    public init?(restoring store: any TokenStore, environment: Environment) async throws {
        guard let record = try await store.attempt({ try await store.load() }) else { return nil }
        self.init(record: record, store: store, environment: environment)
    }

    /// Takes up a session that an app has from somewhere else. It is stored with its first change.
    public init(record: AuthStateRecord, store: any TokenStore, environment: Environment) {
        let keys = Self.keyCache(for: record.client, record.keys, environment)
        self.init(record: record, store: store, environment: environment, keys: keys)
    }

    /// Exchanges an authorization code for tokens, verifies the ID token and stores the session.
    ///
    /// Sends one POST to the token endpoint, never a second one, since a code is good once; then fetches the provider's
    /// keys. RFC 6749 §4.1.3, RFC 7636 §4.5, OpenID Connect Core §3.1.3.
    ///
    /// - Parameters:
    ///   - response: What ``AuthorizationRequest/response(fromQuery:)`` returned.
    ///   - store: Where the session goes. A session that is there is replaced at the end, if all went well.
    /// - Throws: ``AuthError``: the server's own code, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/store``; `CancellationError`. Nothing is stored then.
    public init(
        exchanging response: AuthorizationResponse, store: any TokenStore, environment: Environment
    ) async throws {
        let request = response.request
        let tokens = try await TokenEndpoint(client: request.client, environment: environment)
            .send(.exchange(response), stage: .token)
        let keys = Self.keyCache(for: request.client, nil, environment)
        var idToken: IDToken?
        if request.scope.contains(.openID) {
            guard let token = tokens.idToken else {
                throw AuthError(
                    .invalidIDToken, .idToken, "expected an ID token, since 'openid' was asked for, found none")
            }
            var expected = IDTokenVerifier.Expectations(request: request)
            expected.accessToken = tokens.accessToken
            idToken = try await Self.verify(token, expected, request.client, keys, environment)
        }
        let record = try AuthStateRecord(request: request, response: tokens, idToken: idToken, keys: keys?.entry)
        try await store.attempt { try await store.save(record) }
        self.init(record: record, store: store, environment: environment, keys: keys)
    }

    private init(record: AuthStateRecord, store: any TokenStore, environment: Environment, keys: KeySetCache?) {
        (self.record, self.store, self.environment, self.keys) = (record, store, environment, keys)
    }
}

// MARK: - Tokens

extension AuthState {
    /// Returns an access token that is valid, refreshed if needed.
    ///
    /// Without parameters a token is refreshed 60 seconds before its end, at most a tenth of its lifetime. Callers that
    /// need a refresh at the same time share one; a token that is issued while a caller waits is handed out even if it
    /// is shorter than asked. New tokens are handed out only after the store has them. If it refuses, the error is
    /// ``AuthError/Code/store``, the tokens stay in memory, and the next call tries to store them again.
    ///
    /// - Parameters:
    ///   - minimumValidity: For how long the token must be good.
    ///   - forceRefresh: Refresh even if the token seems to be good, for example after a 401.
    /// - Throws: ``AuthError``: ``AuthError/Code/signInRequired`` after the session has ended (by `invalid_grant`, by a
    ///   wrong ID token, or by a sign-out), ``AuthError/Code/noRefreshToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/store``, or the server's own code: none of these ends the session; `CancellationError`.
    public func freshAccessToken(
        minimumValidity: Duration? = nil, forceRefresh: Bool = false
    ) async throws -> AccessToken {
        if savedChanges < changes { try await save() }
        if let token = try usableToken(minimumValidity: minimumValidity, forceRefresh: forceRefresh) { return token }
        let seen = record.accessToken
        let token = try await refreshing.run { try await self.refresh(insteadOf: seen) }
        guard !token.isExpired(at: environment.now()) else {
            throw AuthError(
                .invalidResponse, .refresh, "expected a token that is still good, found one that has expired already",
                isTemporary: true)
        }
        return token
    }

    /// The token at hand, if that is good enough; nil if a refresh can bring a better one.
    private func usableToken(minimumValidity: Duration?, forceRefresh: Bool) throws -> AccessToken? {
        let now = environment.now()
        if !forceRefresh, let token = record.accessToken, token.isFresh(at: now, minimumValidity: minimumValidity) {
            return token
        }
        if let end = record.end { throw Self.signInRequired(end.reason) }
        guard record.refreshToken != nil else {
            // Nothing better can be had: the rest of its life is worth more than an error.
            if !forceRefresh, minimumValidity == nil, let token = record.accessToken, !token.isExpired(at: now) {
                return token
            }
            throw AuthError(
                .noRefreshToken, .refresh,
                "the access token cannot be refreshed, since the provider gave no refresh token",
                outcome: .notSent)
        }
        return nil
    }

    private func refresh(insteadOf seen: AccessToken?) async throws -> AccessToken {
        try await save()
        guard record.end == nil, let refreshToken = record.refreshToken else {
            throw Self.signInRequired(record.end?.reason ?? "there is no refresh token")
        }
        // A refresh that the caller came too late to share may have ended since it looked.
        if let token = record.accessToken, token != seen { return token }

        environment.logger.info("refresh: the access token is being refreshed")
        let response: TokenResponse
        do {
            response = try await TokenEndpoint(client: record.client, environment: environment)
                .send(.refresh(refreshToken), stage: .refresh)
        } catch let error as AuthError where error.code == .invalidGrant && !error.isTemporary {
            throw await end(
                "the provider no longer accepts the refresh token (\(error.server?.summary ?? "invalid_grant"))", error)
        }
        let idToken: IDToken?
        do { idToken = try await verifiedIDToken(of: response) } catch let error as AuthError
            where error.code == .invalidIDToken
        {
            throw await end("the refreshed ID token is not this session's: \(error.message)", error)
        } catch {
            // The old refresh token is used up: the new one is kept, but nothing that could not be verified.
            if record.end == nil {
                record.mergeRefreshToken(response)
                try await save()
            }
            throw error
        }
        // An answer that comes after the session has ended changes nothing.
        if let end = record.end { throw Self.signInRequired(end.reason) }
        record.merge(response, idToken: idToken)
        record.keys = keys?.entry
        try await save()
        guard let token = record.accessToken else { throw Self.signInRequired(record.end?.reason ?? "") }
        return token
    }

    /// Core §12.2: an ID token that comes with a refresh is verified like the first one, and against it.
    private func verifiedIDToken(of response: TokenResponse) async throws -> IDToken? {
        guard let token = response.idToken, let previous = record.idToken else { return nil }
        var expected = IDTokenVerifier.Expectations(nonce: record.nonce)
        expected.accessToken = response.accessToken
        expected.previous = previous
        return try await Self.verify(token, expected, record.client, keys, environment)
    }

    /// Ends the session, and says so to whoever waits for a token.
    private func end(_ reason: String, _ cause: AuthError) async -> AuthError {
        record.end(reason, at: environment.now())
        environment.logger.notice("session: ended: \(reason)")
        // If this write fails, memory still knows, and the next call tries again.
        try? await save()
        var error = Self.signInRequired(record.end?.reason ?? reason)
        (error.server, error.httpStatus) = (cause.server, cause.httpStatus)
        return error
    }

    private static func signInRequired(_ reason: String) -> AuthError {
        AuthError(.signInRequired, .refresh, "the session has ended, sign in again: \(reason)")
    }
}

// MARK: - Verification

extension AuthState {
    private static func keyCache(
        for client: Client, _ entry: KeySetCache.Entry?, _ environment: Environment
    ) -> KeySetCache? {
        client.provider[.keys].map { KeySetCache(url: $0, environment: environment, entry: entry) }
    }

    /// Verifies with the keys at hand; if none of them is the token's, with the keys fetched again, once.
    private static func verify(
        _ token: Secret, _ expected: IDTokenVerifier.Expectations, _ client: Client, _ keys: KeySetCache?,
        _ environment: Environment
    ) async throws -> IDToken {
        var verifier = IDTokenVerifier(client: client)
        verifier.now = environment.now
        let atHand = try await keys?.keys()
        if let idToken = try verifier.verifyIfKeyIsKnown(token, keys: atHand, expecting: expected) { return idToken }
        guard let keys else { throw verifier.refusal("expected the provider to have a 'jwks_uri', found none") }
        if let fetched = try await keys.refetch() {
            return try verifier.verify(token, keys: fetched, expecting: expected)
        }
        // Somebody else has just fetched them. If the key is not among those either, it may be later.
        let latest = try await keys.keys()
        if let idToken = try verifier.verifyIfKeyIsKnown(token, keys: latest, expecting: expected) { return idToken }
        throw AuthError(
            .invalidResponse, .keys,
            "expected the ID token's key among those fetched less than a minute ago, found none", isTemporary: true)
    }

    /// Verifies a JWT that is signed like an ID token, for the userinfo endpoint.
    func keySets() async throws -> (atHand: KeySet?, refetch: @Sendable () async throws -> KeySet?) {
        (try await keys?.keys(), { [keys] in try await keys?.refetch() })
    }
}

// MARK: - Store

extension AuthState {
    /// Returns when the store has the record as it stands. Whoever comes meanwhile waits for the same write; a caller
    /// that is cancelled does not stop it.
    private func save() async throws {
        let wanted = changes
        while savedChanges < wanted {
            do { try await writing.run { try await self.write() } } catch let error as AuthError {
                // Again after a write that was under way already when the record changed, whatever became of it.
                if writtenChanges >= wanted { throw error }
            }
        }
    }

    private func write() async throws {
        guard savedChanges < changes else { return }
        let (written, record, isForgotten) = (changes, record, isForgotten)
        writtenChanges = written
        try await store.attempt { [store] in
            if isForgotten { try await store.delete() } else { try await store.save(record) }
        }
        savedChanges = written
    }

    /// Waits until a refresh and a write that are under way have ended, however they end, but no longer than the limit.
    ///
    /// Call it before a process ends in which a caller was cancelled: callers leave at once, and the refresh that they
    /// leave behind has used up its refresh token. It waits in a cancelled task too.
    public func settle(atMost limit: Duration) async {
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        Task {
            await refreshing.settle()
            await writing.settle()
            end.finish()
        }
        let clock = Task {
            try await Task.sleep(for: limit)
            end.finish()
        }
        await Task { for await _ in ends {} }.value
        clock.cancel()
    }

    /// Ends the session here and removes it from the store; no answer that is still to come brings it back.
    ///
    /// The provider is not told: see ``revokeTokens()`` and ``EndSessionRequest``.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if it could not be removed; memory has forgotten it anyway.
    public func forget() async throws {
        isForgotten = true
        record.end("signed out", at: environment.now())
        // In a task of its own: who is cancelled while signing out has to be signed out all the same.
        try await Task { try await save() }.value
    }
}
