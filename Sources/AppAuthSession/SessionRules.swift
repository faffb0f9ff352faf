package import AppAuthProtocol
internal import FoundationEssentials

/// The rules of staying signed in, as a pure function: what is stored and what happened go in, what is stored then and
/// what is to be done come out. ``AuthState`` and the locks of its store only drive them.
package enum SessionRules {
    /// What a caller wants.
    package struct TokenRequirement: Sendable {
        package var parameters = TokenParameters.session
        /// For how long the token has to be good; nil for the usual margin.
        package var minimumValidity: Duration?
        /// Whether the token that the caller has seen is no good, whatever its date says.
        package var isForced = false
        /// Whether it is sent in a pause after failures, too: the caller asked for a refresh in so many words.
        package var ignoresPause = false
        /// The token that there was when the caller began.
        package var seen: AccessToken?

        /// What callers have in common who may share a refresh and its response.
        package struct Kind: Hashable, Sendable {
            let parameters: TokenParameters
            let minimumValidity: Duration?
            /// The token that is no good, where one is forced.
            let refused: Secret?
            let isForced: Bool
            let ignoresPause: Bool
        }

        /// Whether it is what nearly all callers need.
        var isUsual: Bool { !isForced && minimumValidity == nil && parameters == .session }

        package var kind: Kind {
            Kind(
                parameters: parameters, minimumValidity: minimumValidity, refused: isForced ? seen?.value : nil,
                isForced: isForced, ignoresPause: ignoresPause)
        }
        /// When the caller began.
        package let began: Timestamp

        package init(began: Timestamp) { self.began = began }

        /// Whether a token is better than an error: one that has not ended, though it will soon.
        package func putsUpWith(_ token: AccessToken, at now: Timestamp) -> Bool {
            !isForced && minimumValidity == nil && !token.isExpired(at: now)
        }

        /// Whether a token is what the caller wants. One that was issued since it began is, however short it is: a server
        /// with lifetimes of a second must not be asked again and again.
        package func accepts(_ token: AccessToken, at now: Timestamp) -> Bool {
            if isForced, token.value == seen?.value { return false }
            if token.isFresh(at: now, minimumValidity: minimumValidity) { return true }
            return !token.isExpired(at: now) && token.received.isSince(began) && token.value != seen?.value
        }
    }

    /// What gets the next access token.
    package enum Renewal: Sendable {
        /// Good once, if the provider rotates it (RFC 6749 §6).
        case refreshToken(Secret)
        /// Good again and again (RFC 6749 §4.4).
        case grant(TokenGrant)
    }

    /// A refresh token, or a grant, on its way to the provider.
    package struct Attempt: Sendable {
        /// The session whose token it is.
        let session: String
        package let need: TokenRequirement
        package let renewal: Renewal
        /// The same refresh token on its way before, without a response that is known.
        package let earlier: PendingRefresh?

        /// The refresh token that is presented, if it is one.
        package var refreshToken: Secret? {
            guard case .refreshToken(let token) = renewal else { return nil }
            return token
        }
    }

    /// What a response is worth.
    package enum IDTokenOutcome: Sendable {
        /// Its ID token is verified, or it has none.
        case verified(IDToken?, keys: KeySetCache.Entry?)
        /// Its ID token could not be verified, for a reason that may go away.
        case unverifiable(AuthError)
        /// Its ID token is not this session's.
        case refused(AuthError)
    }

    package enum Event: Sendable {
        /// A caller wants a token, and has no refresh lock yet.
        case asked(TokenRequirement)
        /// The same, after some seconds in which another had the refresh lock.
        case waited(TokenRequirement)
        /// A caller wants a token, and has the refresh lock.
        case wanted(TokenRequirement)
        /// The provider has answered. The refresh token in it is the one that is good now; the rest is not verified yet.
        case received(Attempt, TokenResponse)
        /// Jitter: 0 to 1, for the pause if the response is of no use.
        case answered(Attempt, TokenResponse, IDTokenOutcome, jitter: Double)
        /// No response, or an error.
        case failed(Attempt, AuthError, jitter: Double)
        case signedOut
        /// The provider has answered about the client's registration, and has taken back the token before.
        case registered(Client)
    }

    /// What this process knows of its session.
    package struct Knowledge: Sendable {
        package let record: AuthStateRecord
        /// Whether it was in the store: then its absence means that it was removed.
        package let wasStored: Bool

        package init(record: AuthStateRecord, wasStored: Bool) { (self.record, self.wasStored) = (record, wasStored) }
    }

    package enum Action: Sendable {
        /// This is the caller's token.
        case handOut(AccessToken)
        /// Wait for the refresh lock, and want the token again then.
        case waitForLock
        /// Send it, and come back with what happened.
        case present(Attempt)
        /// Another process has changed the refresh token, or the same person has signed in again: see what is needed now.
        case lookAgain
        case fail(AuthError)
        /// Nothing but what was stored.
        case done
    }

    package struct Decision: Sendable {
        package internal(set) var action: Action
        /// What those who watch the session are told.
        package var change: AuthState.Change?
        /// Tokens that nobody will use: a response that came after the end.
        package var orphan: TokenResponse?
        /// The session that a sign-out has taken out of the store.
        package var removed: AuthStateRecord?
        /// Whether a sign-out has found a newer sign-in in its place, which stays.
        package var isReplaced = false

        package init(_ action: Action, _ change: AuthState.Change? = nil) {
            (self.action, self.change) = (action, change)
        }

        /// Whether it tells of new tokens.
        var isRenewal: Bool { if case .renewed? = change { true } else { false } }
    }
}

// MARK: - The function

extension SessionRules {
    /// Decides.
    ///
    /// - Parameters:
    ///   - stored: What the store has, and what it is to have.
    ///   - known: What this process knows.
    ///   - then: When it happened, if that could not be stored for a while: pauses begin there.
    package static func apply(
        _ event: Event, to stored: inout AuthStateRecord?, known: Knowledge, at now: Timestamp, then: Timestamp? = nil
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
            // What was known already is told to nobody.
            let end = AuthStateRecord.End(reason: gone.reason, date: now.wall)
            var decision = Decision(.fail(gone.error), known.record.end == nil ? .ended(end) : nil)
            // Of a session that another sign-in has replaced nothing is revoked: at several providers that would end all of
            // the client's grants of this person, the new one among them.
            let isReplaced = stored.map { $0.id != known.record.id } ?? false
            if !isReplaced { decision.orphan = event.response }
            return decision
        }
        // The same person has signed in again meanwhile. What became of the earlier session's tokens no longer matters.
        if let attempt = event.attempt, attempt.session != record.id { return Decision(.lookAgain) }
        let decision =
            switch event {
            case .asked(let need): want(need, &record, known, .unasked, now)
            case .waited(let need): want(need, &record, known, .awaited, now)
            case .wanted(let need): want(need, &record, known, .held, now)
            case .received(_, let response): receive(response, &record)
            case .answered(let attempt, let response, let verdict, let jitter):
                answer(attempt, response, verdict, jitter, &record, now, then ?? now)
            case .failed(let attempt, let error, let jitter): fail(attempt, error, jitter, &record, now, then ?? now)
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

    /// The session as it stands: the stored one, if it is still this one, or the same person's later sign-in. Nothing that
    /// comes after a sign-out or another sign-in changes anything.
    private static func current(_ stored: AuthStateRecord?, _ known: Knowledge) -> Result<AuthStateRecord, SessionLoss>
    {
        if let end = known.record.end { return .failure(SessionLoss(end.reason)) }
        guard var record = stored else {
            return known.wasStored ? .failure(SessionLoss("it was signed out")) : .success(known.record)
        }
        guard record.id == known.record.id || record.succeeds(known.record) else { return .failure(.replaced) }
        // The app's own configuration counts: it may have a new client secret.
        record.change(known.record.client.unless(registeredLater: record.client))
        return record.end.map { .failure(SessionLoss($0.reason)) } ?? .success(record)
    }

    /// How a caller stands with the refresh lock.
    private enum LockPhase { case unasked, awaited, held }

    private static func want(
        _ need: TokenRequirement, _ record: inout AuthStateRecord, _ known: Knowledge, _ standing: LockPhase,
        _ now: Timestamp
    ) -> Decision {
        let token = record.token(for: need.parameters)
        if let token, need.accepts(token, at: now) {
            let isNew = token != known.record.token(for: need.parameters)
            return Decision(.handOut(token), isNew ? .renewed(record) : nil)
        }
        guard let renewal = record.renewal else {
            // Nothing better can be had: the rest of its life is worth more than an error.
            if let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
            return Decision(
                .fail(
                    AuthError(
                        .noRefreshToken, .refresh,
                        "the access token cannot be refreshed, since the provider gave no refresh token",
                        outcome: .notSent)))
        }
        if let backoff = record.backoff {
            // One response for all who waited for it, also when it is a failure, and in whatever process they wait.
            if backoff.pause.begin.isAfter(need.began) {
                if let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
                return Decision(.fail(backoff.error(at: now)))
            }
            if !need.ignoresPause, !backoff.pause.isOver(at: now) {
                if let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
                return Decision(.fail(backoff.pauseError(at: now)))
            }
        }
        // Refreshed in good time, and the one who does it takes long, or is stopped: what there is is still good.
        if standing == .awaited, let token, need.putsUpWith(token, at: now) { return Decision(.handOut(token)) }
        // Most of those who wait find new tokens then: they need no digest, nor what libcrypto takes to begin.
        guard standing == .held else { return Decision(.waitForLock) }
        guard case .refreshToken(let refreshToken) = renewal else {
            return Decision(.present(Attempt(session: record.id, need: need, renewal: renewal, earlier: nil)))
        }
        let fingerprint = refreshToken.fingerprint
        let earlier = record.pendingRefresh.flatMap { $0.fingerprint == fingerprint ? $0 : nil }
        record.pendingRefresh = PendingRefresh(fingerprint: fingerprint, first: earlier?.first ?? now, last: now)
        return Decision(.present(Attempt(session: record.id, need: need, renewal: renewal, earlier: earlier)))
    }

    private static func receive(_ response: TokenResponse, _ record: inout AuthStateRecord) -> Decision {
        record.merge(refreshToken: response.refreshToken)
        return Decision(.done)
    }

    private static func answer(
        _ attempt: Attempt, _ response: TokenResponse, _ verdict: IDTokenOutcome, _ jitter: Double,
        _ record: inout AuthStateRecord, _ now: Timestamp, _ then: Timestamp
    ) -> Decision {
        switch verdict {
        case .verified where response.token.isExpired(at: response.received):
            // A server that gives out dead tokens must not be asked again at each call.
            record.merge(refreshToken: response.refreshToken)
            let error = AuthError(
                .invalidResponse, .refresh, "expected a token that is still good, found one that has expired already",
                isTemporary: true)
            return failure(error, attempt.need, jitter, &record, now, then)
        case .verified(let idToken, let keys):
            record.merge(response, for: attempt.need.parameters, idToken: idToken, keys: keys)
            guard response.token.isExpired(at: now) else { return Decision(.handOut(response.token), .renewed(record)) }
            // That is no fault of the server's, and the next call asks it again at once.
            let late = AuthError(
                .store, .refresh, "the store has taken the new tokens only after the access token had expired",
                isTemporary: true)
            return Decision(.fail(late), .renewed(record))
        case .unverifiable(let error):
            // The old refresh token is used up: the new one is kept, but nothing that could not be verified.
            record.merge(refreshToken: response.refreshToken)
            return failure(error, attempt.need, jitter, &record, now, then)
        case .refused(let error):
            let reason = "the refreshed ID token is not this session's: \(error.message)"
            var decision = end(reason, error, &record, now)
            decision.orphan = response
            return decision
        }
    }

    private static func fail(
        _ attempt: Attempt, _ error: AuthError, _ jitter: Double, _ record: inout AuthStateRecord, _ now: Timestamp,
        _ then: Timestamp
    ) -> Decision {
        // RFC 6749 §5.2: the one error that says that the grant is over.
        if error.code == .invalidGrant, !error.isTemporary, let refreshToken = attempt.refreshToken {
            guard record.refreshToken == refreshToken else { return Decision(.lookAgain) }
            // Several servers answer so where the refresh token is good, but not for what one caller asks for. The next
            // refresh of the session's own finds out.
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
        // Whatever the server has done with the token, the note stays until it has answered.
        if error.outcome != .perhapsProcessed { record.pendingRefresh = attempt.earlier }
        // The old refresh token is used up: the new one is kept of a response that cannot be used otherwise.
        var error = error
        if let rotated = error.rotatedRefreshToken {
            record.merge(refreshToken: rotated)
            error.rotatedRefreshToken = nil
        }
        if attempt.need.parameters != .session, error.isAboutParameters { return Decision(.fail(error)) }
        return failure(error, attempt.need, jitter, &record, now, then)
    }

    private static func failure(
        _ error: AuthError, _ need: TokenRequirement, _ jitter: Double, _ record: inout AuthStateRecord,
        _ now: Timestamp,
        _ then: Timestamp
    ) -> Decision {
        var error = error
        error.nextAttempt = then.wall + record.fail(error, at: then, jitter: jitter).pause.length.seconds
        // Refreshed in good time: what there is is still good.
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
    /// The refresh token that was sent, once it is known what came of it.
    package var attempt: SessionRules.Attempt? {
        switch self {
        case .received(let attempt, _), .answered(let attempt, _, _, _), .failed(let attempt, _, _): attempt
        case .asked, .waited, .wanted, .signedOut, .registered: nil
        }
    }

    /// The tokens that came.
    package var response: TokenResponse? {
        switch self {
        case .received(_, let response), .answered(_, let response, _, _): response
        case .asked, .waited, .wanted, .failed, .signedOut, .registered: nil
        }
    }
}

extension AuthError {
    /// Whether the fault lies in what one caller asks for, as all may that the provider says to it alone (`invalid_scope`,
    /// RFC 6749 §5.2; `invalid_target`, RFC 8707 §2; `consent_required`): that is no trouble of the session's, and those who
    /// ask for something else neither hear of it nor wait for it.
    fileprivate var isAboutParameters: Bool {
        !isTemporary && (code == .invalidConfiguration || server != nil && code != .invalidClient)
    }
}

extension Timestamp {
    /// Whether it is this moment or a later one of the same boot.
    func isSince(_ earlier: Timestamp) -> Bool {
        earlier.isInSameBoot(as: self) && sinceBoot >= earlier.sinceBoot
    }

    /// Whether it is later, in the same boot.
    func isAfter(_ earlier: Timestamp) -> Bool { isSince(earlier) && sinceBoot > earlier.sinceBoot }
}
