internal import AppAuthProtocol

/// Changes that the store has rejected: what becomes of them, and when they are stored again.
extension SessionMachine {
    // MARK: - Rejected results

    /// Handles a result that the store has rejected. What matters is what would be lost if it were dropped.
    mutating func rejected(
        _ id: ID, _ event: SessionRules.Event, _ known: SessionRules.Knowledge, _ error: any Error
    ) {
        // The decision if the store had the session in memory.
        var copy: AuthStateRecord? = record
        let decision = rules(event, &copy, knownNow, now, nil)
        // The result is void: memory has a later sign-in or refresh token, or the session was signed out.
        if decision.isToDecideAgain { return mark(id) }
        guard let after = copy, record.end == nil else { return conclude(id, decision) }
        if after.end != nil {
            // The session in memory goes on: the same user may have signed in again, and only the store knows.
            setUnsaved(event, known: known, lock: id)
            return failToSave(id, error)
        }
        record = after
        let hasRefreshToken = known.wasStored && known.record.refreshToken == after.refreshToken
        // The store lacks only the record of a failure: the next refresh does not pause.
        if hasRefreshToken, !decision.isRenewal { return conclude(id, decision) }
        if hasRefreshToken, decision.isHandOut {
            // New tokens can be fetched again, so the caller gets this one even if the second write fails.
            operations[id]?.phase = .storing(inMemory: decision)
            operations[id]?.mayLoseRefreshToken = false
            calls.append(Call(operation: id, work: .update(event, at: now), knownAtCall: known))
            return
        }
        // No process may send the old refresh token, so the lock is kept, too.
        setUnsaved(event, known: known, lock: id)
        // Do not report a new refresh token before the store has it.
        guard case .fail = decision.action, !decision.isRenewal else { return failToSave(id, error) }
        retryLater()
        conclude(id, decision)
    }

    private mutating func failToSave(_ id: ID, _ error: any Error) {
        retryLater()
        if let error = error as? AuthError { publish(.storeFailed(error)) }
        fail(id, error)
    }

    mutating func setUnsaved(_ event: SessionRules.Event, known: SessionRules.Knowledge, lock: ID?) {
        unsavedNumber += 1
        situation = .unsaved(Unsaved(number: unsavedNumber, event: event, known: known, time: now, lock: lock))
    }

    // MARK: - The next attempt

    /// Makes an operation wait until the unsaved change is stored.
    mutating func save(for id: ID) {
        if !savers.contains(id) { savers.append(id) }
        requestSave(isUnattended: isReadingWhileWaiting(id))
    }

    /// Requests one save for all operations that wait.
    private mutating func requestSave(isUnattended: Bool) {
        if isSaving { return }
        if let queued = calls.firstIndex(where: \.isSave) {
            calls[queued].isUnattended = calls[queued].isUnattended && isUnattended
        } else {
            calls.append(Call(operation: nil, work: .save, isUnattended: isUnattended))
        }
    }

    mutating func saved(_ call: Call, _ decision: SessionRules.Decision, _ stored: AuthStateRecord?) {
        guard let mine = call.unsaved else { return }
        if let stored { adopt(stored) }
        var decision = decision
        if case .signedOut = mine.event {} else { decision = unlessSignedOut(decision, mine.event, mine.known) }
        if unsaved?.number == mine.number { situation = .stored }
        if let lock = mine.lock { releaseLock(of: lock) }
        report(decision)
        var tokens = decision.orphan?.revocable ?? []
        // A sign-out also revokes the tokens that only the store or only memory had, unless another sign-in has replaced
        // the session; ``SessionRules`` gives the reason.
        if case .signedOut = mine.event, stored == nil || stored?.id == mine.known.record.id {
            for ended in [decision.removed, mine.known.record] { if let ended { tokens += unrevokedTokens(of: ended) } }
        }
        if !tokens.isEmpty { effects.append(.revoke(tokens)) }
        savesEnded { $0.proceed($1) }
        if unsaved == nil { retryPause = nil }
    }

    mutating func notSaved(_ call: Call, _ error: any Error) {
        guard let mine = call.unsaved else { return }
        if let error = error as? AuthError { publish(.storeFailed(error)) }
        let isLatest = unsaved?.number == mine.number
        // A sign-out has replaced this change and left the lock to its write. It can be released although the store still
        // has the old refresh token: the session is over, so nothing is lost if another process sends that token.
        if !isLatest, let lock = mine.lock { releaseLock(of: lock) }
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
            let goesOn = machine.isReadingWhileWaiting(id)
            // Try again if the store rejected an older change, or if only the next call may prompt the user.
            if !isLatest || call.isUnattended && !goesOn { return machine.proceed(id) }
            if goesOn { machine.keepWaiting(id) } else { machine.fail(id, error) }
        }
    }

    mutating func savesEnded(_ goOn: (inout SessionMachine, ID) -> Void) {
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
}
