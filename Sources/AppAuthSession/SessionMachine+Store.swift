internal import AppAuthProtocol

/// How a session and its store are kept the same, and what becomes of what the store refuses.
extension SessionMachine {
    // MARK: - One call at a time

    mutating func callStore() {
        while current == nil, !calls.isEmpty {
            var call = calls.removeFirst()
            let work: StoreCall.Work
            switch call.work {
            case .load: work = .load
            case .update(let event, let then):
                let known = call.known ?? knowledge
                call.known = known
                work = .update(event, known: known, then: then)
            case .save:
                guard let unsaved else {
                    savesEnded { machine, id in machine.proceed(id) }
                    continue
                }
                (call.known, call.unsaved) = (unsaved.known, unsaved)
                work = .update(unsaved.event, known: unsaved.known, then: unsaved.then)
            }
            current = call
            effects.append(
                .call(StoreCall(work: work, isUnattended: call.isUnattended, expectsSession: wasStored)))
        }
    }

    mutating func stored(_ result: Result<StoreResult, any Error>) {
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

    /// What the store has is what is known, if it is this session, or the same person's later sign-in.
    mutating func adopt(_ stored: AuthStateRecord) {
        guard stored.id == record.id || stored.succeeds(record), stored.move == nil, record.end == nil else { return }
        let wasAuthorized = isAuthorized
        var adopted = stored
        adopted.change(record.client.unless(registeredLater: stored.client))
        record = adopted
        if unsaved == nil { situation = adopted.end == nil ? .stored : .ended }
        if let end = adopted.end, wasAuthorized { publish(.ended(end)) }
    }

    /// Takes over what another process has stored of this session, so that a change of its registration is based on that and can
    /// be stored afterwards.
    mutating func adoptForChange(_ stored: AuthStateRecord?) throws {
        try stored?.refuseToMove(at: location)
        if let stored, unsaved == nil { adopt(stored) }
        // A session that has ended keeps its registration in memory.
        guard record.end == nil else { return }
        if let stored, stored.id != record.id { throw SessionRules.sessionReplaced }
        if stored == nil, wasStored { throw SessionRules.signInRequired("it was signed out") }
    }

    /// Takes over what another process has stored of this session, if it can be read, and if nothing here is newer.
    ///
    /// - Returns: Whether the store has another session in its place.
    @discardableResult
    mutating func adoptSame(_ result: Result<AuthStateRecord?, any Error>) -> Bool {
        guard let stored = try? result.get() else { return false }
        guard stored.id == record.id else { return true }
        if unsaved == nil { adopt(stored) }
        return false
    }

    /// What was decided while the session was signed out here is void: nothing of it is handed out, sent or told.
    ///
    /// - Parameter known: What was known when it was decided.
    func unlessSignedOut(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ known: SessionRules.Knowledge
    ) -> SessionRules.Decision {
        guard let end = record.end else { return decision }
        if case .ended? = decision.change { return decision }
        var void = SessionRules.Decision(.fail(SessionRules.signInRequired(end.reason)))
        // Where the sign-out was known, the decision has considered whether another sign-in has taken the place.
        void.orphan = known.record.end == nil ? event.response : decision.orphan
        return void
    }

    // MARK: - What is unsaved

    /// Has an operation wait until what is unsaved is stored.
    mutating func save(for id: ID) {
        if !savers.contains(id) { savers.append(id) }
        requestSave(isUnattended: isLooking(id))
    }

    /// One attempt serves all who wait.
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
        // A sign-out may have come in between.
        if unsaved?.number == mine.number { situation = record.end == nil ? .stored : .ended }
        if let lock = mine.lock { effects.append(.unlock(lock)) }
        tell(decision)
        var tokens = tokensToRevoke(after: decision)
        // With it, what only memory had; see ``SessionRules`` for why nothing of a session that was replaced.
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
        if isLatest, isRetrying, let pause = retryPause {
            isRetrying = false
            retry(after: min(.seconds(60), pause * 2))
        }
        savesEnded { machine, id in
            let isLooking = machine.isLooking(id)
            // The attempt does not count for this one if it stored something older, or if it could not ask the user and now may.
            if !isLatest || call.isUnattended && !isLooking { return machine.proceed(id) }
            if isLooking { machine.keepWaiting(id) } else { machine.fail(id, error) }
        }
    }

    private mutating func savesEnded(_ goOn: (inout SessionMachine, ID) -> Void) {
        let waiting = savers
        savers = []
        for id in waiting { goOn(&self, id) }
        if unsaved == nil { isRetrying = false }
        if isRetrying { requestSave(isUnattended: true) }
    }

    /// Tries now and then even if nobody asks, since the lock keeps all others waiting; and whoever began it may be gone.
    mutating func retryLater() { if retryPause == nil { retry(after: .seconds(1)) } }

    private mutating func retry(after pause: Duration) {
        retryPause = pause
        retries += 1
        effects.append(.retry(retries, after: pause))
    }

    mutating func retry(_ number: Int) {
        guard number == retries, retryPause != nil, unsaved != nil else { return }
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
        // What is being written keeps its lock until the store has answered: until then nobody can know which token is good.
        if let unsaved, let lock = unsaved.lock, current?.unsaved?.number != unsaved.number {
            effects.append(.unlock(lock))
        }
        keep(.signedOut, known: known, then: nil, lock: nil)
    }

    /// Tells those who observe the session. That another has ended it is not noted in the record: the store may be away for
    /// a while, and come back.
    mutating func tell(_ decision: SessionRules.Decision) {
        switch decision.change {
        case .ended? where !isAuthorized: break
        case .ended(let end)?:
            situation = .missing
            publish(.ended(end))
        case let change?: publish(change)
        case nil: break
        }
    }

    mutating func publish(_ change: AuthState.Change) { effects.append(.publish(change)) }

    /// Tokens that came after the end are of no use to anybody; and what a sign-out has removed may have come after the app
    /// had the tokens revoked.
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
