internal import AppAuthProtocol

/// The synchronization of a session with its store, and the handling of changes that the store rejects.
extension SessionMachine {
    // MARK: - One call at a time

    mutating func callStore() {
        while current == nil, !calls.isEmpty {
            var call = calls.removeFirst()
            let work: StoreCall.Work
            switch call.work {
            case .load: work = .load
            case .update(let event, let time):
                let known = call.known ?? knowledge
                call.known = known
                work = .update(event, known: known, at: time)
            case .save:
                guard let unsaved else {
                    savesEnded { machine, id in machine.proceed(id) }
                    continue
                }
                (call.known, call.unsaved) = (unsaved.known, unsaved)
                work = .update(unsaved.event, known: unsaved.known, at: unsaved.time)
            }
            current = call
            effects.append(
                .call(StoreCall(work: work, isUnattended: call.isUnattended, expectsSession: wasStored)))
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
    /// is not adopted, and a session that has ended adopts nothing.
    mutating func adopt(_ stored: AuthStateRecord) {
        guard stored.id == record.id || stored.succeeds(record), stored.move == nil, record.end == nil else { return }
        let wasAuthorized = isAuthorized
        var adopted = stored
        adopted.change(record.client.unless(registeredLater: stored.client))
        record = adopted
        if unsaved == nil { situation = adopted.end == nil ? .stored : .ended }
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
    /// - Returns: Whether the store has another session instead.
    mutating func adoptSame(_ stored: AuthStateRecord?) -> Bool {
        if let stored, stored.id == record.id {
            let token = record.accessToken
            if unsaved == nil, !hasRejectedToken(beside: stored) { adopt(stored) }
            if record.accessToken != token, isAuthorized { publish(.renewed(record)) }
            return false
        }
        // A refresh goes on with a later sign-in of the same user.
        if case .stored = situation, isAuthorized, !(stored?.succeeds(record) ?? false) {
            let reason = stored == nil ? SessionRules.signedOutElsewhere : SessionRules.replacedElsewhere
            situation = .missing
            publish(.ended(AuthStateRecord.End(reason: reason, date: now.wall)))
        }
        return stored != nil
    }

    /// Whether memory has an access token that the store has rejected: the store has its refresh token, and an older access
    /// token.
    private func hasRejectedToken(beside stored: AuthStateRecord) -> Bool {
        guard stored.end == nil, stored.refreshToken == record.refreshToken, let token = record.accessToken,
            let older = stored.accessToken
        else { return false }
        return token != older && token.received.isSince(older.received)
    }

    /// Voids a decision if the session was signed out here meanwhile: nothing of it is handed out, sent or reported.
    func unlessSignedOut(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ known: SessionRules.Knowledge
    ) -> SessionRules.Decision {
        guard let end = record.end else { return decision }
        if case .ended? = decision.change { return decision }
        var void = SessionRules.Decision(.fail(SessionRules.signInRequired(end.reason)))
        void.orphan = decision.orphan
        // If the sign-out was known, the decision already considers whether another session is in the store. If it was
        // not, the tokens would have been used, unless a later sign-in has replaced the session.
        if known.record.end == nil, !decision.isToDecideAgain { void.orphan = event.response }
        return void
    }

    // MARK: - Unsaved changes

    /// Makes an operation wait until the unsaved change is stored.
    mutating func save(for id: ID) {
        if !savers.contains(id) { savers.append(id) }
        requestSave(isUnattended: isPolling(id))
    }

    /// Requests one save for all operations that wait.
    private mutating func requestSave(isUnattended: Bool) {
        if current.map(\.isSave) ?? false { return }
        if let queued = calls.firstIndex(where: \.isSave) {
            calls[queued].isUnattended = calls[queued].isUnattended && isUnattended
        } else {
            calls.append(Call(operation: nil, work: .save, isUnattended: isUnattended))
        }
    }

    private mutating func saved(_ call: Call, _ decision: SessionRules.Decision, _ stored: AuthStateRecord?) {
        guard let mine = call.unsaved else { return }
        if let stored { adopt(stored) }
        var decision = decision
        if case .signedOut = mine.event {} else { decision = unlessSignedOut(decision, mine.event, mine.known) }
        // The session may have been signed out meanwhile.
        if unsaved?.number == mine.number { situation = record.end == nil ? .stored : .ended }
        if let lock = mine.lock { effects.append(.unlock(lock)) }
        report(decision)
        var tokens = tokensToRevoke(after: decision)
        // A sign-out also revokes the tokens that only memory had, unless another sign-in has replaced the session;
        // ``SessionRules`` gives the reason.
        if case .signedOut = mine.event, !decision.isReplaced { tokens += rest(of: mine.known.record) }
        if !tokens.isEmpty { effects.append(.revoke(tokens, then: [])) }
        savesEnded { machine, id in machine.proceed(id) }
        if unsaved == nil { retryPause = nil }
    }

    private mutating func notSaved(_ call: Call, _ error: any Error) {
        guard let mine = call.unsaved else { return }
        if let error = error as? AuthError { publish(.storeFailed(error)) }
        let isLatest = unsaved?.number == mine.number
        // A sign-out has left the lock to this write.
        if !isLatest, let lock = mine.lock { effects.append(.unlock(lock)) }
        if isLatest {
            if isRetrying, let pause = retryPause {
                isRetrying = false
                retry(after: min(.seconds(60), pause * 2))
            } else {
                // The caller may have left, and would not know that the session is still stored.
                retryLater()
            }
        }
        savesEnded { machine, id in
            let isPolling = machine.isPolling(id)
            // Try again if the store rejected an older change, or if only the next call may prompt the user.
            if !isLatest || call.isUnattended && !isPolling { return machine.proceed(id) }
            if isPolling { machine.keepWaiting(id) } else { machine.fail(id, error) }
        }
    }

    private mutating func savesEnded(_ goOn: (inout SessionMachine, ID) -> Void) {
        let waiting = savers
        savers = []
        for id in waiting { goOn(&self, id) }
        if unsaved == nil { isRetrying = false }
        if isRetrying { requestSave(isUnattended: true) }
    }

    /// Retries the save from time to time without a caller. The lock keeps all others waiting, and the operation that
    /// failed to save may have ended.
    mutating func retryLater() { if retryPause == nil { retry(after: .seconds(1)) } }

    private mutating func retry(after pause: Duration) {
        retryPause = pause
        retryNumber += 1
        effects.append(.retry(retryNumber, after: pause))
    }

    mutating func retry(_ number: Int) {
        guard number == retryNumber, retryPause != nil, unsaved != nil else { return }
        isRetrying = true
        requestSave(isUnattended: true)
    }

    // MARK: - The end

    mutating func signOut(because reason: String) {
        // The first sign-out knows the tokens.
        if case .signedOut? = unsaved?.event { return }
        let (known, wasAuthorized) = (knowledge, isAuthorized)
        record.end(reason, at: now.wall)
        if wasAuthorized, let end = record.end { publish(.ended(end)) }
        // A write in progress keeps its lock until the store has responded: the token before it must not be sent.
        if let unsaved, let lock = unsaved.lock, current?.unsaved?.number != unsaved.number {
            effects.append(.unlock(lock))
        }
        setUnsaved(.signedOut, known: known, at: nil, lock: nil)
    }

    /// Reports a decision to the observers of the session. If another process has ended the session, the record does
    /// not note it: the store may only be away for a while.
    mutating func report(_ decision: SessionRules.Decision) {
        switch decision.change {
        case .ended? where !isAuthorized: break
        case .ended(let end)?:
            situation = .missing
            publish(.ended(end))
        case let change?: publish(change)
        case nil: break
        }
    }

    mutating func publish(_ change: SessionChange) { effects.append(.publish(change)) }

    /// Returns the tokens to revoke: those that arrived after the end of the session, and, if the app has revoked the
    /// session's tokens, those that a sign-out has removed and that arrived after that revocation.
    mutating func tokensToRevoke(after decision: SessionRules.Decision) -> [RevocableToken] {
        let orphans = decision.orphan.map { RevocableToken.tokens($0.refreshToken, $0.accessToken) } ?? []
        return orphans + (decision.removed.map { rest(of: $0) } ?? [])
    }

    private mutating func rest(of removed: AuthStateRecord) -> [RevocableToken] {
        guard !revoked.isEmpty else { return [] }
        let tokens = removed.revocable.filter { !revoked.contains($0.value) }
        revoked.formUnion(tokens.map(\.value))
        return tokens
    }
}
