public import AppAuthProtocol
internal import FoundationEssentials
internal import JOSE
internal import Logging

/// A signed-in session: what an app keeps.
///
/// It exchanges the code, gives out access tokens that are valid, refreshes them when needed, keeps the verified ID
/// token, authenticates requests and signs out. A new refresh token is in the store before anybody gets the access token
/// that came with it.
///
/// Safe to share, within a process and, by way of the store, among processes: however many callers need a token at
/// once, one refresh is made for all of them, and a caller that is cancelled does not cancel it for the others.
///
/// ```swift
/// if let state = try await AuthState(restoring: store, environment: .live) {
///     let token = try await state.freshAccessToken()
/// }
/// ```
public actor AuthState {
    /// What happens to the session, and what is to be done.
    var machine: SessionMachine
    package nonisolated let environment: Environment
    let store: any TokenStore
    var verification: IDTokenVerification
    let feed = ChangeFeed()
    let cache: TokenCache
    /// The operations that callers have begun, and what is done for them.
    var lastID = 0
    var waiting: [SessionMachine.ID: CheckedContinuation<SessionMachine.Outcome, any Error>] = [:]
    var locks: [SessionMachine.ID: RefreshLock] = [:]
    var locking: [SessionMachine.ID: Task<Void, Never>] = [:]
    var timers: [SessionMachine.ID: Task<Void, any Error>] = [:]
    /// The revocation that was begun last.
    var revoking: Task<Void, Never>?
    /// Callers of ``settle(atMost:)``.
    var settling: [CheckedContinuation<Void, Never>] = []
    /// The change of the client's registration that was sent last.
    var registering: SingleFlight<ClientRegistration>?

    /// Takes up a session that was stored; nil if there is none. Sends nothing.
    ///
    /// - Parameters:
    ///   - store: Where it is.
    ///   - client: The client as it is now, for an app whose client has another secret or another way to authenticate since
    ///     the sign-in; nil for the client that was stored.
    ///   - environment: HTTP, clock and log.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store cannot be read or holds something else, and
    ///   ``AuthError/Code/invalidConfiguration`` if the session is another client's or another issuer's.
    public init?(restoring store: any TokenStore, as client: Client? = nil, environment: Environment) async throws {
        guard var record = try await store.attempt({ try await store.load() }) else { return nil }
        try record.refuseToMove(at: store.location)
        if let client {
            guard client.id.isExactly(record.client.id), client.provider.issuer == record.client.provider.issuer else {
                throw AuthError(
                    .invalidConfiguration, .configuration,
                    "expected a session of '\(client.id)' at \(client.provider.issuer) in \(store.location), found one of "
                        + "'\(record.client.id)' at \(record.client.provider.issuer)", outcome: .notSent)
            }
            record.change(client.unless(registeredLater: record.client))
        }
        self.init(record: record, store: store, environment: environment, wasStored: true)
    }

    /// Takes up a session that an app has from somewhere else. It is stored with its first change, unless the store has
    /// another by then.
    ///
    /// What was read from this very store is taken up by ``init(restoring:as:environment:)``: this one takes an empty store
    /// for a new one, and would bring back a session that another process has signed out meanwhile.
    public init(record: AuthStateRecord, store: any TokenStore, environment: Environment) {
        self.init(record: record, store: store, environment: environment, wasStored: false)
    }

    /// - Parameter proof: What has been in use with the record's key already, and knows its servers.
    package init(
        record: AuthStateRecord, store: any TokenStore, environment: Environment, wasStored: Bool, proof: DPoP? = nil
    ) {
        (self.store, self.environment) = (store, environment)
        machine = SessionMachine(
            record: record, wasStored: wasStored, location: store.location, patience: environment.lockPatience,
            now: environment.now())
        cache = TokenCache(record, proof: proof ?? record.proofKey.map(DPoP.init(key:)))
        verification = IDTokenVerification(client: record.client, environment: environment, keys: record.keys)
    }

    /// The session as this process knows it: claims, scope, expiry, and whether and why it ended.
    public var record: AuthStateRecord { machine.record }

    /// Proves the possession of the key that the tokens are bound to; nil for bearer tokens.
    package nonisolated var proof: DPoP? { cache.proof }

    /// Whether there are tokens that the store has refused to take so far. They are lost if the process ends now.
    public var hasUnsavedTokens: Bool { machine.hasUnsavedTokens }

    /// Whether the session goes on: it has neither ended nor been removed from the store, as far as this process knows.
    public var isAuthorized: Bool { machine.isAuthorized }

    /// The claims of the verified ID token, which say who is signed in; nil if the session has no ID token.
    public var claims: Claims? { record.idToken?.claims }

    /// What happens to the session from now on. Each use begins a stream of its own; one that nobody reads keeps the
    /// latest 64 changes. The stream ends with the `AuthState`.
    public nonisolated var changes: AsyncStream<Change> { feed.subscribe() }

    /// Returns an access token that is valid, refreshed if needed.
    ///
    /// Without parameters a token is refreshed 60 seconds before its end, at most a tenth of its lifetime. Callers that
    /// need a refresh at the same time share one, in whatever process they are; a token that is issued while a caller
    /// waits is handed out even if it is shorter than asked. A new token is handed out only after the store has the refresh
    /// token that came with it. If it refuses, the error is ``AuthError/Code/store``, the tokens stay in memory, and the next
    /// call tries to store them again.
    ///
    /// After a second failure in a row callers get the error at once for a while, and nothing is sent:
    /// ``AuthError/nextAttempt`` says for how long. A server's `Retry-After` counts from the first failure, for five minutes
    /// at most.
    ///
    /// If the same person signs in again meanwhile, with the same client and store, the caller gets the new session's token,
    /// and this `AuthState` goes on with that session.
    ///
    /// - Parameters:
    ///   - minimumValidity: For how long the token must be good.
    ///   - forceRefresh: Refresh even if the token seems to be good, and even in a pause after failures: for a user who asks
    ///     for it. After a 401 call ``reject(_:)`` instead, which keeps the pauses.
    ///   - parameters: Fewer scopes, or certain resources. Such tokens are kept apart from the session's own.
    /// - Throws: ``AuthError``: ``AuthError/Code/signInRequired`` after the session has ended (by `invalid_grant`, by an ID
    ///   token about another person, or by a sign-out), ``AuthError/Code/sessionReplaced`` if the store has another sign-in's
    ///   session, which is not known to be the same person's, ``AuthError/Code/noRefreshToken``,
    ///   ``AuthError/Code/invalidIDToken``, ``AuthError/Code/clockSkew``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/store``, or the server's own code: none of these ends the session; `CancellationError`.
    public nonisolated func freshAccessToken(
        minimumValidity: Duration? = nil, forceRefresh: Bool = false, parameters: TokenParameters = .session
    ) async throws -> AccessToken {
        switch begin(minimumValidity, forceRefresh, parameters) {
        case .ready(let token): return token
        case .join(let run): return try await run.value()
        case .refresh(let refresh): return try await refresh.perform()
        }
    }

    /// How a caller gets its token. What a task keeps while it waits has to fit into the first kilobyte of its stack, or
    /// each of the thousands who may wait takes another one: no more than a reference.
    private enum Beginning {
        case ready(AccessToken)
        case join(TokenCache.Flight.Run)
        case refresh(Refresh)
    }

    /// The refresh that a caller begins.
    private final class Refresh: Sendable {
        let state: AuthState
        let flight: TokenCache.Flight
        let need: SessionRules.TokenRequirement

        init(_ state: AuthState, _ flight: TokenCache.Flight, _ need: SessionRules.TokenRequirement) {
            (self.state, self.flight, self.need) = (state, flight, need)
        }

        @inline(never)
        func perform() async throws -> AccessToken { try await flight.run { try await self.state.refresh(self.need) } }
    }

    @inline(never)
    private nonisolated func begin(
        _ minimumValidity: Duration?, _ forceRefresh: Bool, _ parameters: TokenParameters
    ) -> Beginning {
        if minimumValidity == nil, !forceRefresh, parameters == .session, let run = cache.toJoin { return .join(run) }
        var need = SessionRules.TokenRequirement(began: environment.now())
        (need.parameters, need.minimumValidity) = (parameters, minimumValidity)
        (need.isForced, need.ignoresPause) = (forceRefresh, forceRefresh)
        switch cache.look(for: &need) {
        case .ready(let token): return .ready(token)
        case .toJoin(let run): return .join(run)
        case .toBegin(let flight): return .refresh(Refresh(self, flight, need))
        }
    }

    /// Notes that a resource server has refused a token that seemed to be good (401, RFC 6750 §3.1): it is handed out no
    /// more, and the next caller gets a new one. ``send(_:)`` does that by itself.
    public nonisolated func reject(_ token: AccessToken) { cache.refuse(token) }

    /// How many wait for a token.
    package nonisolated var waitingCount: Int { cache.flights.reduce(0) { $0 + $1.waitingCount } }

    /// How many wait for the store to accept what it has refused.
    package var savingCount: Int { machine.savingCount }

    /// Reads the store, refreshes if that is needed, and waits until the result is stored.
    private func refresh(_ need: SessionRules.TokenRequirement) async throws -> AccessToken {
        guard case .token(let token) = try await perform(.token(need)) else { throw CancellationError() }
        return token
    }
}
