internal import AppAuthConcurrency
public import AppAuthProtocol
internal import FoundationEssentials
internal import JOSE
internal import Logging

/// A signed-in session, the object that an app keeps.
///
/// It exchanges the code, returns valid access tokens, refreshes them when needed, keeps the verified ID token,
/// authenticates requests and signs out. The store has a new refresh token before any caller gets the access token that
/// came with it.
///
/// A session can be shared within a process and, through the store, among processes. However many callers need a token
/// at the same time, they share one refresh. A caller that is cancelled does not cancel it for the others.
///
/// ```swift
/// if let state = try await AuthState(restoring: store, environment: .live) {
///     let token = try await state.freshAccessToken()
/// }
/// ```
public actor AuthState {
    /// The session as this process knows it: claims, scope, expiry, and whether and why it ended.
    public internal(set) var record: AuthStateRecord
    /// Whether the store no longer has the session, or has another one. The session may come back.
    var isMissing = false
    /// The latest change, if the store has not accepted it.
    var unsaved: UnsavedChange?
    var unsavedNumber = 0
    /// How many calls are saving it, and the task that does so from time to time.
    var saves = 0
    /// The tokens that were replaced in the last minute, because a resource server has rejected them.
    var replacements: [(token: Secret, server: String, time: Timestamp)] = []
    var saving: Task<Void, Never>?
    package nonisolated let environment: Environment
    let store: any TokenStore
    let rules: SessionRules.Function
    /// The callers that need the refresh lock, and those that call the store.
    let lockTurns = TaskQueue(), storeTurns = TaskQueue()
    /// The turn is taken while a refresh token may be at the provider and its successor is not stored.
    let exposures = TaskQueue()
    var verifier: JWTVerifier
    let feed = ChangeFeed()
    let cache: TokenCache
    /// The revocation that began last. It waits for the earlier ones.
    var revoking: Task<Void, Never>?
    /// The tokens that the app has asked the provider to revoke.
    var revoked: Set<Secret> = []
    /// The change of the client's registration that began last.
    var registering: SingleFlight<ClientRegistration>?

    /// Restores a stored session; nil if there is none. Sends nothing.
    ///
    /// - Parameters:
    ///   - store: The store that has the session.
    ///   - call: Whether the store may prompt the user, and whether a session is expected there.
    ///   - client: The current client, if its secret or its authentication method has changed since the sign-in; nil
    ///     for the client that was stored, which is not compared with anything.
    ///   - environment: HTTP, clock and log.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store cannot be read or holds something else, and
    ///   ``AuthError/Code/invalidConfiguration`` if the session belongs to another client or another issuer than `client`.
    public init?(
        restoring store: any TokenStore, call: TokenStoreCall = TokenStoreCall(), as client: Client? = nil,
        environment: Environment
    ) async throws {
        guard var record = try await store.convertingErrors({ try await store.load(call) }) else { return nil }
        if let client {
            guard record.belongs(to: client.id, at: client.provider.issuer) else {
                throw AuthError(
                    .invalidConfiguration, .configuration,
                    "expected a session of \(client.id.foundText) at \(client.provider.issuer) in \(store.location), found one of "
                        + "\(record.client.id.foundText) at \(record.client.provider.issuer)")
            }
            record.use(client)
        }
        self.init(stored: record, store: store, environment: environment)
    }

    /// Creates a session from tokens that an app has from elsewhere, and stores it. Any other session in the store is
    /// replaced.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store rejects it.
    public init(record: AuthStateRecord, store: any TokenStore, environment: Environment) async throws {
        try await store.replace(with: record)
        self.init(stored: record, store: store, environment: environment)
    }

    /// Creates a session that is in the store.
    ///
    /// - Parameters:
    ///   - proof: A proof that is already in use with the record's key, and knows its servers.
    ///   - rules: Other rules in place of ``SessionRules``, for the simulation.
    package init(
        stored record: AuthStateRecord, store: any TokenStore, environment: Environment, proof: DPoP? = nil,
        rules: @escaping SessionRules.Function = SessionRules.usual
    ) {
        (self.record, self.store, self.environment, self.rules) = (record, store, environment, rules)
        cache = TokenCache(record, proof: proof ?? record.proof)
        verifier = JWTVerifier(client: record.client, environment: environment, keys: record.keys)
    }

    /// The proof of possession of the key that the tokens are bound to; nil for bearer tokens.
    package nonisolated var proof: DPoP? { cache.proof }

    /// Whether the store has rejected a change that is lost if the process ends now: a new refresh token, a registration, or
    /// an end of the session that a refresh has found. A rejected sign-out does not count.
    public var hasUnsavedTokens: Bool { unsaved?.lock != nil }

    /// Whether the session goes on: as far as this process knows, it has neither ended nor been removed from the store.
    public var isAuthorized: Bool { !isMissing && record.end == nil }

    /// Whether tokens may be handed out without reading the store: nothing is unsaved, and the session is not missing.
    var isOpen: Bool { unsaved == nil && !isMissing }

    /// The claims of the verified ID token, which identify the user; nil if the session has no ID token.
    public var claims: Claims? { record.idToken?.claims }

    /// The changes of the session from now on. Each access begins a new stream. A stream that is not read keeps the
    /// latest 64 changes. The stream ends with the `AuthState`.
    public nonisolated var changes: AsyncStream<SessionChange> { feed.subscribe() }

    /// Returns a valid access token, refreshing it if necessary.
    ///
    /// By default, a token is refreshed 60 seconds before it expires, or a tenth of its lifetime if that is shorter.
    /// Callers that need a refresh at the same time share one, even in different processes. A token that is issued
    /// while a caller waits is returned even if its validity is shorter than requested. A new token is returned only
    /// after the store has the refresh token that came with it. If the store rejects it, the error is
    /// ``AuthError/Code/store``, the tokens stay in memory, and the next call tries to store them again.
    ///
    /// After a second failure in a row, nothing is sent for a while: callers get the current token while it is valid,
    /// otherwise the error. After ``AuthError/retryDelay``, a call sends another refresh. A server's `Retry-After` causes
    /// a pause even after the first failure, of five minutes at most.
    ///
    /// If the same user signs in again meanwhile, with the same client and store, the caller gets the new session's
    /// token, and this `AuthState` continues with that session.
    ///
    /// - Parameters:
    ///   - minimumValidity: How long the token must remain valid.
    ///   - forceRefresh: Whether to refresh even if the token seems valid, and even in a pause after failures: for a
    ///     user who asks for it. After a 401, call ``reject(_:)`` instead, which respects the pauses.
    ///   - parameters: A request for fewer scopes, or for certain resources. Such tokens are kept apart.
    /// - Throws: ``AuthError``: ``AuthError/Code/signInRequired`` after the session has ended (by `invalid_grant`, by
    ///   an ID token about another user, or by a sign-out); ``AuthError/Code/sessionReplaced`` if the store has the
    ///   session of another sign-in, which is not known to be the same user's. The other errors do not end the session:
    ///   ``AuthError/Code/noRefreshToken``, ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/store``, the server's own code, and `CancellationError`.
    public nonisolated func freshAccessToken(
        minimumValidity: Duration? = nil, forceRefresh: Bool = false, parameters: TokenParameters = .session
    ) async throws -> AccessToken {
        if minimumValidity == nil, !forceRefresh, parameters == .session, let run = cache.toJoin {
            let token = try await run.value()
            if isValid(token) { return token }
        }
        return try await accessToken(minimumValidity, forceRefresh, parameters)
    }

    /// Not inlined, so that a task that only joins a refresh keeps little: with 10,000 waiting tasks, a process has
    /// 35 MB in place of 45 (Tests/Benchmarks/herd).
    @inline(never)
    private nonisolated func accessToken(
        _ minimumValidity: Duration?, _ forceRefresh: Bool, _ parameters: TokenParameters
    ) async throws -> AccessToken {
        func need(isForced: Bool) -> SessionRules.TokenRequirement {
            var need = SessionRules.TokenRequirement(began: environment.now())
            (need.parameters, need.minimumValidity) = (parameters, minimumValidity)
            (need.isForced, need.ignoresPause) = (isForced, isForced)
            return need
        }
        let token = try await accessToken(for: need(isForced: forceRefresh))
        return isValid(token) ? token : try await accessToken(for: need(isForced: false))
    }

    /// Whether a token that was valid when the store got it still is: the process may have been stopped since, or the
    /// machine may have slept.
    private nonisolated func isValid(_ token: AccessToken) -> Bool {
        token.isForOneUse || !token.isExpired(at: environment.now())
    }

    nonisolated func accessToken(for need: SessionRules.TokenRequirement) async throws -> AccessToken {
        var need = need
        switch cache.find(for: &need) {
        case .ready(let token): return token
        case .refresh(let flight):
            return try await flight.run { [need] in try await self.refresh(need) }
        }
    }

    /// Reads the session from the store, so that ``changes`` reports what other processes have done: new tokens, or the
    /// end of the session. It sends nothing and never prompts the user. Every refresh reads the store too; an app with a
    /// window can call this when the user comes back to the window. If the same user has signed in again, the next
    /// refresh continues with the new session.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store cannot be read: the session stays as it is
    ///   known; `CancellationError`.
    public func synchronize() async throws { _ = try await readReplacement(isUnattended: true) }

    /// Records that a resource server has rejected a token that seemed valid (401, RFC 6750 §3.1). No later
    /// caller gets it, and the next one gets a new one. ``send(_:)`` does this by itself.
    public nonisolated func reject(_ token: AccessToken) { cache.refuse(token) }

    /// How many callers wait for a token.
    package nonisolated var waitingCount: Int { cache.flights.reduce(0) { $0 + $1.waitingCount } }

    /// How many operations wait until the store accepts the unsaved change.
    package var savingCount: Int { saves + storeTurns.waitingCount }
}
