internal import AppAuthProtocol

/// The synchronization of a session with its store.
extension SessionMachine {
    // MARK: - One call at a time

    mutating func callStore() {
        while current == nil, !calls.isEmpty {
            var call = calls.removeFirst()
            let work: StoreCall.Work
            switch call.work {
            case .load: work = .load
            case .update(let event, let time):
                let known = call.knownAtCall ?? knownNow
                call.knownAtCall = known
                work = .update(event, known: known, at: time)
            case .save:
                guard let unsaved else {
                    savesEnded { $0.proceed($1) }
                    continue
                }
                (call.knownAtCall, call.unsaved) = (unsaved.known, unsaved)
                work = .update(unsaved.event, known: unsaved.known, at: unsaved.time)
            }
            current = call
            effects.append(
                .call(
                    StoreCall(
                        work: work, isUnattended: call.isUnattended, expectsSession: wasStored,
                        lock: call.operation ?? call.unsaved?.lock)))
        }
    }

    mutating func storeReturned(_ result: Result<StoreResult, any Error>) {
        guard let call = current else { return }
        current = nil
        switch (call.operation, result) {
        case (let id?, .success(.loaded(let record))): loaded(id, .success(record))
        case (let id?, .failure(let error)):
            if case .load = call.work { loaded(id, .failure(error)) } else { notUpdated(id, call, error) }
        case (let id?, .success(.updated(let decision, let stored))):
            if let stored { adopt(stored) }
            updated(id, call, decision)
        case (nil, .success(.updated(let decision, let stored))): saved(call, decision, stored)
        case (nil, .failure(let error)): notSaved(call, error)
        case (nil, .success(.loaded)): break
        }
    }

    /// Adopts the stored session if it is this one or a later sign-in of the same user. A session that is being moved
    /// is not adopted, and a session that has ended adopts nothing. Publishes an end that the stored session has.
    mutating func adopt(_ stored: AuthStateRecord) {
        guard stored.id == record.id || stored.succeeds(record), stored.move == nil, record.end == nil else { return }
        let wasAuthorized = isAuthorized
        var adopted = stored
        adopted.use(record.client)
        record = adopted
        if unsaved == nil { situation = .stored }
        if let end = adopted.end, wasAuthorized { publish(.ended(end)) }
    }

    /// Adopts the session as it is stored, so that a change of its registration starts from there and can be stored.
    ///
    /// - Throws: If the store has this session no longer, or if it is being moved to another store.
    mutating func adoptForChange(_ stored: AuthStateRecord?) throws {
        try stored?.refuseToMove(at: location)
        if let stored, unsaved == nil { adopt(stored) }
        // A session that has ended keeps its registration in memory.
        guard record.end == nil else { return }
        if let end = stored?.end { throw SessionRules.signInRequired(end.reason) }
        if let stored, stored.id != record.id { throw SessionRules.sessionReplaced }
        if stored == nil, wasStored { throw SessionRules.signInRequired(SessionRules.signedOutElsewhere) }
    }

    /// Adopts this session as another process has stored it, unless something here is newer. If another process has
    /// removed the session or replaced it by another user's, reports its end.
    ///
    /// - Returns: The session that the store has instead, if it has another.
    mutating func adoptSame(_ stored: AuthStateRecord?) -> AuthStateRecord? {
        if let stored, stored.id == record.id {
            let token = record.accessToken
            if unsaved == nil, !hasRejectedToken(beside: stored) { adopt(stored) }
            if record.accessToken != token, isAuthorized { publish(.renewed(record)) }
            return nil
        }
        // A refresh goes on with a later sign-in of the same user.
        if case .stored = situation, isAuthorized, !(stored?.succeeds(record) ?? false) {
            let reason = stored == nil ? SessionRules.signedOutElsewhere : SessionRules.replacedElsewhere
            situation = .missing
            publish(.ended(AuthStateRecord.End(reason: reason, date: now.wall)))
        }
        return stored
    }

    /// Whether memory has an access token that the store has rejected: the store has its refresh token, and an older access
    /// token.
    private func hasRejectedToken(beside stored: AuthStateRecord) -> Bool {
        guard stored.end == nil, stored.refreshToken == record.refreshToken, let token = record.accessToken,
            let older = stored.accessToken
        else { return false }
        return token != older && token.received.isSince(older.received)
    }

    mutating func publish(_ change: SessionChange) { effects.append(.publish(change)) }
}
