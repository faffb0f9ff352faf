package import AppAuthProtocol
internal import FoundationEssentials

extension SessionRules {
    /// Decides what to do about an event.
    ///
    /// - Parameters:
    ///   - stored: The stored session; on return, the session to store.
    ///   - known: The session as this process knows it.
    ///   - occurrence: The time of the event, if it could not be stored for a while. Pauses begin there.
    package static func apply(
        _ event: Event, to stored: inout AuthStateRecord?, known: AuthStateRecord, at now: Timestamp,
        occurredAt occurrence: Timestamp? = nil
    ) -> Decision {
        if case .signedOut = event {
            var decision = Decision(.done)
            // Another sign-in that has replaced the session stays.
            if stored?.id == known.id {
                (decision.removed, stored) = (stored, nil)
            }
            return decision
        }
        if case .registered(let client) = event { return register(client, &stored) }
        var record: AuthStateRecord
        switch current(stored, known) {
        case .success(let current): record = current
        case .failure(let loss):
            // Do not report an end that was already known.
            let end = AuthStateRecord.End(reason: loss.reason, date: now.wall)
            var decision = Decision(.fail(loss.error), known.end == nil ? .ended(end) : nil)
            // A revocation must not end another sign-in that has replaced the session.
            let mayEndOther = stored.map { $0.id != known.id && $0.mayShareGrant(with: known) } ?? false
            if !mayEndOther { decision.orphan = event.response }
            return decision
        }
        // The same user has signed in again meanwhile. The fate of the earlier session's tokens no longer matters.
        if let attempt = event.attempt, attempt.session != record.id { return Decision(.decideAgain) }
        // The lock was lost while the refresh token was on its way, and its next holder has stored newer tokens.
        if let sent = event.attempt?.refreshToken, record.refreshToken != sent,
            record.refreshToken != event.response?.refreshToken
        {
            return Decision(.decideAgain)
        }
        var decision = Decision(.done)
        switch event {
        case .tokenNeeded(let need, let lock): decision = token(for: need, lock, record, known, now)
        case .received(_, let response):
            record.hasRefreshed = true
            record.mergeRefreshToken(of: response)
        case .completed(let attempt, let response, let outcome, let jitter):
            decision = accept(attempt, response, outcome, jitter, &record, now, occurrence ?? now)
        case .failed(let attempt, let error, let jitter):
            decision = fail(attempt, error, jitter, &record, now, occurrence ?? now)
        case .signedOut, .registered: break
        }
        stored = record
        return decision
    }

    fileprivate struct SessionLoss: Error {
        let reason: String
        let error: AuthError

        init(_ reason: String, _ error: AuthError? = nil) {
            (self.reason, self.error) = (reason, error ?? signInRequired(reason))
        }
    }

    /// Returns the current session: the stored one, if it is still this one or a later sign-in of the same user. No
    /// event after a sign-out or another sign-in changes anything.
    private static func current(_ stored: AuthStateRecord?, _ known: AuthStateRecord) -> Result<
        AuthStateRecord, SessionLoss
    > {
        if let end = known.end { return .failure(SessionLoss(end.reason)) }
        guard var record = stored else { return .failure(SessionLoss(signedOutElsewhere)) }
        guard record.id == known.id || record.succeeds(known) else {
            return .failure(SessionLoss(replacedElsewhere, sessionReplaced))
        }
        // The app's own configuration takes precedence: it may have a new client secret.
        record.use(known.client)
        return record.end.map { .failure(SessionLoss($0.reason)) } ?? .success(record)
    }

    private static func token(
        for need: TokenRequirement, _ lock: LockState, _ record: AuthStateRecord, _ known: AuthStateRecord,
        _ now: Timestamp
    ) -> Decision {
        let token = record.token(for: need.parameters)
        if let token, need.accepts(token, at: now) {
            let isNew = token != known.token(for: need.parameters)
            return Decision(.handOut(token), isNew ? .renewed(record) : nil)
        }
        guard let credential = record.credential else {
            if let token, need.acceptsUnrefreshed(token, at: now) { return Decision(.handOut(token)) }
            // OpenID Connect Core §11: providers ignore offline_access without prompt=consent.
            let wasRequested = (record.scope + record.withheldScope).contains(.offlineAccess)
            return Decision(
                .fail(
                    AuthError(
                        .noRefreshToken, .refresh,
                        "the access token cannot be refreshed, because the provider issued no refresh token"
                            + (wasRequested
                                ? ": some providers do so only with prompt=consent. Sign in again"
                                : ". Sign in again and request offline_access"),
                        outcome: .notSent)))
        }
        if let backoff = record.backoff {
            let error: AuthError? =
                if backoff.pause.begin.isInSameBoot(as: now), backoff.pause.begin.isAfter(need.began) {
                    // All callers that waited for the refresh, in all processes of this machine, get its result, even a failure.
                    backoff.error(at: now)
                } else if !need.ignoresPause, !backoff.pause.isOver(at: now) {
                    backoff.pauseError(at: now)
                } else {
                    nil
                }
            if let error { return Decision(.fail(error)) }
        }
        // The refresh is early, and the holder of the lock is slow or stopped: the current token is still valid.
        if lock == .waiting, let token, need.acceptsForNow(token, at: now) { return Decision(.handOut(token)) }
        guard lock == .held else { return Decision(.waitForLock) }
        return Decision(.send(Attempt(session: record.id, need: need, credential: credential)))
    }

    private static func accept(
        _ attempt: Attempt, _ response: TokenResponse, _ outcome: IDTokenVerification, _ jitter: Double,
        _ record: inout AuthStateRecord, _ now: Timestamp, _ occurrence: Timestamp
    ) -> Decision {
        if attempt.refreshToken != nil { record.hasRefreshed = true }
        if case .refused(let error) = outcome {
            guard error.isForeign else {
                // The old refresh token is used up: keep the new one, but nothing else of the response.
                record.mergeRefreshToken(of: response)
                return failure(error, jitter, &record, now, occurrence)
            }
            let reason = "the refreshed ID token belongs to another user: \(error.message)"
            var decision = end(reason, error, &record, now)
            decision.orphan = response
            return decision
        }
        var (idToken, keys, unverified): (IDToken?, KeySetCache.Entry?, AuthError?) = (nil, nil, nil)
        switch outcome {
        case .absent, .refused: break
        case .verified(let verified, let entry): (idToken, keys) = (verified, entry)
        case .unverified(let error):
            if record.unverifiedIDToken == nil {
                unverified = error
                unverified?.message = "the refreshed ID token could not be verified: \(error.message)"
            }
            record.noteUnverified(error, at: occurrence, jitter: jitter)
        }
        record.merge(response, for: attempt.need.parameters, idToken: idToken, keys: keys)
        if response.token.isExpired(at: now), !response.token.isForOneUse {
            // This is not the server's fault, and the next call asks it again at once.
            let late = AuthError(
                .store, .refresh, "the store accepted the new tokens only after the access token had expired",
                isTemporary: true)
            return Decision(.fail(late), .renewed(record))
        }
        var decision = Decision(.handOut(response.token), .renewed(record))
        decision.unverified = unverified
        return decision
    }

    private static func fail(
        _ attempt: Attempt, _ error: AuthError, _ jitter: Double, _ record: inout AuthStateRecord, _ now: Timestamp,
        _ occurrence: Timestamp
    ) -> Decision {
        var error = error
        let passing = error.invalidGrantThatMayPass
        if passing == .moment { error.isTemporary = true }
        // RFC 6749 §5.2: the only error that says that the grant is over, in a response to this refresh token.
        if error.code == .invalidGrant, error.outcome == .refused, !error.isTemporary, attempt.refreshToken != nil,
            passing == nil
        {
            // Several servers respond like this if the refresh token is valid, but not for what one caller requests. A
            // refresh of the session's own tokens finds out.
            guard attempt.need.parameters == .session else { return Decision(.fail(error)) }
            let said = error.server?.summary ?? "invalid_grant"
            guard let lost = record.backoff?.lost else {
                return end("the provider no longer accepts the refresh token (\(said))", error, &record, now)
            }
            return end(
                "the response to an earlier refresh, at \(lost.wall.formatted(.iso8601)), never came or was "
                    + "unusable, and the provider does not accept the refresh token again (\(said))", error, &record,
                now)
        }
        // The old refresh token is used up: keep the new one, even from a response that cannot be used otherwise.
        let rotated = error.rotatedRefreshToken
        defer {
            if let rotated { record.merge(refreshToken: rotated, announcing: AnnouncedLifetimes(), sent: now, at: now) }
        }
        error.rotatedRefreshToken = nil
        if attempt.need.parameters != .session, error.isAboutParameters { return Decision(.fail(error)) }
        return failure(error, jitter, &record, now, occurrence)
    }

    private static func failure(
        _ error: AuthError, _ jitter: Double, _ record: inout AuthStateRecord, _ now: Timestamp, _ occurrence: Timestamp
    ) -> Decision {
        var error = error
        let backoff = record.fail(error, at: occurrence, jitter: jitter)
        (error.refreshPause, error.isForGood) = (backoff.pause.remaining(at: now), backoff.isForGood)
        return Decision(.fail(error), .refreshFailed(error))
    }

    private static func end(
        _ reason: String, _ cause: AuthError, _ record: inout AuthStateRecord, _ now: Timestamp
    ) -> Decision {
        record.end(reason, at: now.wall)
        var error = signInRequired(record.end?.reason ?? reason)
        (error.server, error.httpStatus) = (cause.server, cause.httpStatus)
        return Decision(.fail(error), record.end.map(SessionChange.ended))
    }

    /// Stores the registration, even in a session that has ended or that another sign-in has replaced.
    private static func register(_ client: Client, _ stored: inout AuthStateRecord?) -> Decision {
        // Another session of this client has the same registration.
        if let theirs = stored, theirs.client.id.isExactly(client.id) { stored?.use(client) }
        return Decision(.done)
    }

    /// Reasons of an end that this process finds in the store.
    static let signedOutElsewhere = "it was signed out", replacedElsewhere = "another sign-in has replaced it"

    static let sessionReplaced = AuthError(
        .sessionReplaced, .refresh,
        "another sign-in, perhaps to another account, has replaced this session. To use it, restore the session from the "
            + "store", outcome: .notSent)

    static func signInRequired(_ reason: String) -> AuthError {
        AuthError(.signInRequired, .refresh, "the session has ended: \(reason). Sign in again")
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

extension AuthError {
    /// Why the refresh token of an `invalid_grant` may be good all the same.
    fileprivate enum Passing {
        /// It is used at this moment.
        case moment
        /// It is refused from this place, or until the user has done something.
        case place
    }

    /// Salesforce, the conditional access of Microsoft Entra (outside of a network, or from an unknown device) and its second
    /// factor, which such a policy or a new rule demands, and Keycloak behind a proxy that gives it another name.
    private static let places =
        ["ip restricted", "invalid token issuer"]
        + [53000, 53001, 53002, 53003, 53004, 50072, 50074, 50076, 50078, 50079, 50158].map { "aadsts\($0)" }

    /// RFC 6749 §5.2 has only one code for all of them, so the server's words decide.
    fileprivate var invalidGrantThatMayPass: Passing? {
        guard code == .invalidGrant, let said = server?.errorDescription?.lowercased() else { return nil }
        // Salesforce, while an earlier refresh is in work.
        if said.contains("already being processed") { return .moment }
        return Self.places.contains(where: said.contains) ? .place : nil
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
