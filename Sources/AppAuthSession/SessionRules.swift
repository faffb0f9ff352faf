package import AppAuthProtocol
internal import FoundationEssentials

/// The rules of a session, as a pure function: it takes the stored session and an event, and returns what to store and
/// what to do. ``AuthState`` executes its decisions, under the locks of its store.
package enum SessionRules {
    /// The token that a caller needs.
    package struct TokenRequirement: Sendable {
        package var parameters = TokenParameters.session
        /// How long the token must remain valid; nil for the default margin.
        package var minimumValidity: Duration?
        /// Whether the token that the caller has seen is unusable, whatever its expiry.
        package var isForced = false
        /// Whether to refresh even in a pause after failures, since the caller has explicitly asked for a refresh.
        package var ignoresPause = false
        /// The current token when the caller began.
        package var seen: AccessToken?

        /// What callers must have in common to share a refresh and its response.
        package struct Kind: Hashable, Sendable {
            let parameters: TokenParameters
            let minimumValidity: Duration?
            /// The unusable token, if a refresh is forced.
            let refused: Secret?
            let isForced: Bool
            let ignoresPause: Bool
        }

        /// Whether this is the default requirement, which nearly all callers have.
        var isUsual: Bool { !isForced && minimumValidity == nil && parameters == .session }

        package var kind: Kind {
            Kind(
                parameters: parameters, minimumValidity: minimumValidity, refused: isForced ? seen?.value : nil,
                isForced: isForced, ignoresPause: ignoresPause)
        }
        /// When the caller began.
        package let began: Timestamp

        package init(began: Timestamp) { self.began = began }

        /// Whether a token is better than an error: it has not expired, though it soon will.
        package func putsUpWith(_ token: AccessToken, at now: Timestamp) -> Bool {
            !isForced && minimumValidity == nil && !token.isExpired(at: now)
        }

        /// Whether a token satisfies the caller. A token that was issued after the caller began does, however short its
        /// lifetime: a server with lifetimes of a second must not be asked again and again.
        package func accepts(_ token: AccessToken, at now: Timestamp) -> Bool {
            if isForced, token.value == seen?.value { return false }
            if token.isFresh(at: now, minimumValidity: minimumValidity) { return true }
            return !token.isExpired(at: now) && token.received.isSince(began) && token.value != seen?.value
        }
    }

    /// The credential for the next access token.
    package enum Credential: Sendable {
        /// Good only once if the provider rotates it (RFC 6749 §6).
        case refreshToken(Secret)
        /// Good any number of times (RFC 6749 §4.4).
        case grant(TokenGrant)
    }

    /// A refresh token or a grant that is sent to the provider.
    package struct Attempt: Sendable {
        /// The session whose token it is.
        let session: String
        package let need: TokenRequirement
        package let credential: Credential
        /// An earlier attempt with the same refresh token whose response is unknown.
        package let earlier: PendingRefresh?

        /// The refresh token that is sent; nil for a grant.
        package var refreshToken: Secret? {
            guard case .refreshToken(let token) = credential else { return nil }
            return token
        }
    }

    /// The result of verifying the ID token of a response.
    package enum IDTokenOutcome: Sendable {
        /// The ID token is verified, or the response has none.
        case verified(IDToken?, keys: KeySetCache.Entry?)
        /// The ID token could not be verified, for a reason that may go away.
        case unverifiable(AuthError)
        /// The ID token is not this session's.
        case refused(AuthError)
    }

    package enum Event: Sendable {
        /// A caller needs a token.
        case tokenNeeded(TokenRequirement, LockPhase)
        /// The provider has responded. Its refresh token is the valid one; the rest is not verified yet.
        case received(Attempt, TokenResponse)
        /// The response is verified, or its verification has failed. The jitter, 0 to 1, is for the pause if the
        /// response is unusable.
        case verified(Attempt, TokenResponse, IDTokenOutcome, jitter: Double)
        /// There was an error, or no response.
        case failed(Attempt, AuthError, jitter: Double)
        case signedOut
        /// The provider has changed the client's registration and invalidated the previous registration access token.
        case registered(Client)
    }

    /// Whether a caller does not need the refresh lock yet, waits for it while another caller or process holds it, or holds
    /// it.
    package enum LockPhase: Sendable { case unlocked, waiting, held }

    /// What this process knows about its session.
    package struct Knowledge: Sendable {
        package let record: AuthStateRecord
        /// Whether the session was in the store. If so, its absence means that it was removed.
        package let wasStored: Bool

        package init(record: AuthStateRecord, wasStored: Bool) { (self.record, self.wasStored) = (record, wasStored) }
    }

    package enum Action: Sendable {
        /// Returns this token to the caller.
        case handOut(AccessToken)
        /// Waits for the refresh lock, then decides again.
        case waitForLock
        /// Sends the refresh token or the grant. The result is the next event.
        case send(Attempt)
        /// Decides again: another process has changed the refresh token, or the same user has signed in again.
        case decideAgain
        case fail(AuthError)
        /// Does nothing more: the store has the result.
        case done
    }

    package struct Decision: Sendable {
        package internal(set) var action: Action
        /// The change to report to the observers of the session.
        package var change: AuthState.Change?
        /// A response whose tokens will not be used: it came after the end, or its ID token ended the session.
        package var orphan: TokenResponse?
        /// The session that a sign-out has removed from the store.
        package var removed: AuthStateRecord?
        /// Whether a sign-out has found a newer sign-in in the store, which stays.
        package var isReplaced = false

        package init(_ action: Action, _ change: AuthState.Change? = nil) {
            (self.action, self.change) = (action, change)
        }

        /// Whether the decision reports new tokens.
        var isRenewal: Bool { if case .renewed? = change { true } else { false } }
    }
}

// MARK: - Decisions

extension SessionRules {
    /// Decides what to do about an event.
    ///
    /// - Parameters:
    ///   - stored: The stored session; on return, the session to store.
    ///   - known: What this process knows.
    ///   - occurrence: The time of the event, if it could not be stored for a while. Pauses begin there.
    package static func apply(
        _ event: Event, to stored: inout AuthStateRecord?, known: Knowledge, at now: Timestamp,
        occurredAt occurrence: Timestamp? = nil
    ) -> Decision {
        if case .signedOut = event {
            var decision = Decision(.done)
            decision.isReplaced = stored.map { $0.id != known.record.id } ?? false
            if !decision.isReplaced {
                (decision.removed, stored) = (stored, AuthStateRecord.signedOut(stored, at: now.wall))
            }
            return decision
        }
        if case .registered(let client) = event { return register(client, &stored, known) }
        var record: AuthStateRecord
        switch current(stored, known) {
        case .success(let current): record = current
        case .failure(let gone):
            // Do not report an end that was already known.
            let end = AuthStateRecord.End(reason: gone.reason, date: now.wall)
            var decision = Decision(.fail(gone.error), known.record.end == nil ? .ended(end) : nil)
            // If another sign-in has replaced the session, revoke nothing: at several providers that would end all of
            // the client's grants of this user, including the new one.
            let isReplaced = stored.map { $0.id != known.record.id } ?? false
            if !isReplaced { decision.orphan = event.response }
            return decision
        }
        // The same user has signed in again meanwhile. The fate of the earlier session's tokens no longer matters.
        if let attempt = event.attempt, attempt.session != record.id { return Decision(.decideAgain) }
        let decision =
            switch event {
            case .tokenNeeded(let need, let lock): token(for: need, lock, &record, known, now)
            case .received(_, let response): receive(response, &record)
            case .verified(let attempt, let response, let outcome, let jitter):
                accept(attempt, response, outcome, jitter, &record, now, occurrence ?? now)
            case .failed(let attempt, let error, let jitter):
                fail(attempt, error, jitter, &record, now, occurrence ?? now)
            case .signedOut, .registered: Decision(.done)
            }
        stored = record
        return decision
    }

    fileprivate struct SessionLoss: Error {
        let reason: String
        let error: AuthError

        init(_ reason: String) { (self.reason, error) = (reason, signInRequired(reason)) }

        static let replaced = SessionLoss(
            replacedBy: "another sign-in has taken its place",
            "expected the session of before, found that of another sign-in, which may be of another account: restore the "
                + "session from the store to use it")

        private init(replacedBy reason: String, _ message: String) {
            (self.reason, error) = (reason, AuthError(.sessionReplaced, .refresh, message, outcome: .notSent))
        }
    }

    /// Returns the current session: the stored one, if it is still this one or a later sign-in of the same user. No
    /// event after a sign-out or another sign-in changes anything.
    private static func current(_ stored: AuthStateRecord?, _ known: Knowledge) -> Result<AuthStateRecord, SessionLoss>
    {
        if let end = known.record.end { return .failure(SessionLoss(end.reason)) }
        guard var record = stored else {
            return known.wasStored ? .failure(SessionLoss("it was signed out")) : .success(known.record)
        }
        guard record.id == known.record.id || record.succeeds(known.record) else { return .failure(.replaced) }
        // The app's own configuration takes precedence: it may have a new client secret.
        record.change(known.record.client.unless(registeredLater: record.client))
        return record.end.map { .failure(SessionLoss($0.reason)) } ?? .success(record)
    }

    private static func token(
        for need: TokenRequirement, _ lock: LockPhase, _ record: inout AuthStateRecord, _ known: Knowledge,
        _ now: Timestamp
    ) -> Decision {
        let token = record.token(for: need.parameters)
        if let token, need.accepts(token, at: now) {
            let isNew = token != known.record.token(for: need.parameters)
            return Decision(.handOut(token), isNew ? .renewed(record) : nil)
        }
        guard let credential = record.credential else {
            // There is no way to a better token: the remaining validity is worth more than an error.
            if let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
            return Decision(
                .fail(
                    AuthError(
                        .noRefreshToken, .refresh,
                        "the access token cannot be refreshed, since the provider gave no refresh token",
                        outcome: .notSent)))
        }
        if let backoff = record.backoff {
            let error: AuthError? =
                if backoff.pause.begin.isAfter(need.began) {
                    // All callers that waited for the refresh get its result, even a failure, in whatever process they wait.
                    backoff.error(at: now)
                } else if !need.ignoresPause, !backoff.pause.isOver(at: now) {
                    backoff.pauseError(at: now)
                } else {
                    nil
                }
            if let error {
                if let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
                return Decision(.fail(error))
            }
        }
        // The refresh is early, and the holder of the lock is slow or stopped: the current token is still valid.
        if lock == .waiting, let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
        // Most callers that wait find new tokens in the end: they need no digest, nor the initialization of libcrypto.
        guard lock == .held else { return Decision(.waitForLock) }
        guard case .refreshToken(let refreshToken) = credential else {
            return Decision(.send(Attempt(session: record.id, need: need, credential: credential, earlier: nil)))
        }
        let fingerprint = refreshToken.fingerprint
        let earlier = record.pendingRefresh.flatMap { $0.fingerprint == fingerprint ? $0 : nil }
        record.pendingRefresh = PendingRefresh(fingerprint: fingerprint, first: earlier?.first ?? now, last: now)
        return Decision(.send(Attempt(session: record.id, need: need, credential: credential, earlier: earlier)))
    }

    private static func receive(_ response: TokenResponse, _ record: inout AuthStateRecord) -> Decision {
        record.merge(refreshToken: response.refreshToken)
        return Decision(.done)
    }

    private static func accept(
        _ attempt: Attempt, _ response: TokenResponse, _ outcome: IDTokenOutcome, _ jitter: Double,
        _ record: inout AuthStateRecord, _ now: Timestamp, _ occurrence: Timestamp
    ) -> Decision {
        switch outcome {
        case .verified where response.token.isExpired(at: response.received):
            // A server that issues expired tokens must not be asked again at each call.
            record.merge(refreshToken: response.refreshToken)
            let error = AuthError(
                .invalidResponse, .refresh, "expected a token that is still good, found one that has expired already",
                isTemporary: true)
            return failure(error, attempt.need, jitter, &record, now, occurrence)
        case .verified(let idToken, let keys):
            record.merge(response, for: attempt.need.parameters, idToken: idToken, keys: keys)
            guard response.token.isExpired(at: now) else { return Decision(.handOut(response.token), .renewed(record)) }
            // This is not the server's fault, and the next call asks it again at once.
            let late = AuthError(
                .store, .refresh, "the store has taken the new tokens only after the access token had expired",
                isTemporary: true)
            return Decision(.fail(late), .renewed(record))
        case .unverifiable(let error):
            // The old refresh token is used up: keep the new one, but nothing that could not be verified.
            record.merge(refreshToken: response.refreshToken)
            return failure(error, attempt.need, jitter, &record, now, occurrence)
        case .refused(let error):
            let reason = "the refreshed ID token is not this session's: \(error.message)"
            var decision = end(reason, error, &record, now)
            decision.orphan = response
            return decision
        }
    }

    private static func fail(
        _ attempt: Attempt, _ error: AuthError, _ jitter: Double, _ record: inout AuthStateRecord, _ now: Timestamp,
        _ occurrence: Timestamp
    ) -> Decision {
        // RFC 6749 §5.2: the only error that says that the grant is over.
        if error.code == .invalidGrant, !error.isTemporary, let refreshToken = attempt.refreshToken {
            guard record.refreshToken == refreshToken else { return Decision(.decideAgain) }
            // Several servers respond like this if the refresh token is valid, but not for what one caller requests.
            // The next refresh of the session's own tokens finds out.
            guard attempt.need.parameters == .session else {
                record.pendingRefresh = attempt.earlier
                return Decision(.fail(error))
            }
            let said = error.server?.summary ?? "invalid_grant"
            guard let earlier = attempt.earlier else {
                return end("the provider no longer accepts the refresh token (\(said))", error, &record, now)
            }
            return end(
                "the response to an earlier refresh, at \(earlier.first.wall.formatted(.iso8601)), never came or was of no "
                    + "use, and the provider does not accept its refresh token again (\(said))", error, &record, now)
        }
        // If the server may have processed the token, the note stays until the server has responded.
        if error.outcome != .perhapsProcessed { record.pendingRefresh = attempt.earlier }
        // The old refresh token is used up: keep the new one, even from a response that cannot be used otherwise.
        var error = error
        if let rotated = error.rotatedRefreshToken {
            record.merge(refreshToken: rotated)
            error.rotatedRefreshToken = nil
        }
        if attempt.need.parameters != .session, error.isAboutParameters { return Decision(.fail(error)) }
        return failure(error, attempt.need, jitter, &record, now, occurrence)
    }

    private static func failure(
        _ error: AuthError, _ need: TokenRequirement, _ jitter: Double, _ record: inout AuthStateRecord,
        _ now: Timestamp,
        _ occurrence: Timestamp
    ) -> Decision {
        var error = error
        error.nextAttempt = occurrence.wall + record.fail(error, at: occurrence, jitter: jitter).pause.length.seconds
        // The refresh was early: the current token is still valid.
        if let token = record.token(for: need.parameters), need.putsUpWith(token, at: now) {
            return Decision(.handOut(token), .refreshFailed(error))
        }
        return Decision(.fail(error), .refreshFailed(error))
    }

    private static func end(
        _ reason: String, _ cause: AuthError, _ record: inout AuthStateRecord, _ now: Timestamp
    ) -> Decision {
        record.end(reason, at: now.wall)
        var error = signInRequired(record.end?.reason ?? reason)
        (error.server, error.httpStatus) = (cause.server, cause.httpStatus)
        return Decision(.fail(error), record.end.map(AuthState.Change.ended))
    }

    static let sessionReplaced = SessionLoss.replaced.error

    static func signInRequired(_ reason: String) -> AuthError {
        AuthError(.signInRequired, .refresh, "the session has ended, sign in again: \(reason)")
    }
}

extension SessionRules.Event {
    var isRegistration: Bool { if case .registered = self { true } else { false } }

    /// The attempt whose result is known.
    package var attempt: SessionRules.Attempt? {
        switch self {
        case .received(let attempt, _), .verified(let attempt, _, _, _), .failed(let attempt, _, _): attempt
        case .tokenNeeded, .signedOut, .registered: nil
        }
    }

    /// The response that brought tokens.
    package var response: TokenResponse? {
        switch self {
        case .received(_, let response), .verified(_, let response, _, _): response
        case .tokenNeeded, .failed, .signedOut, .registered: nil
        }
    }
}

extension AuthError {
    /// Whether the error concerns only what one caller requests. That may hold for any error that the provider returns
    /// to that caller (`invalid_scope`, RFC 6749 §5.2; `invalid_target`, RFC 8707 §2; `consent_required`). Such an
    /// error is not a failure of the session: callers with other requests neither get it nor wait for it.
    fileprivate var isAboutParameters: Bool {
        !isTemporary && (code == .invalidConfiguration || server != nil && code != .invalidClient)
    }
}

extension Timestamp {
    /// Whether this is the same time or a later one, in the same boot.
    func isSince(_ earlier: Timestamp) -> Bool {
        earlier.isInSameBoot(as: self) && sinceBoot >= earlier.sinceBoot
    }

    /// Whether this is a later time, in the same boot.
    func isAfter(_ earlier: Timestamp) -> Bool { isSince(earlier) && sinceBoot > earlier.sinceBoot }
}
