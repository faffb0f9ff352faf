internal import AppAuthProtocol
internal import Logging

/// How a session and its store are kept the same, and what becomes of what the store refuses.
extension AuthState {
    var knowledge: SessionRules.Knowledge { SessionRules.Knowledge(record: record, wasStored: wasStored) }

    /// Decides by what the store has, and stores what comes of it, in one step.
    func step(
        _ event: SessionRules.Event, known: SessionRules.Knowledge? = nil, then: Timestamp? = nil
    ) async throws -> SessionRules.Decision {
        let (known, before) = (known ?? knowledge, looks)
        let (decision, stored) = try await store.attempt(expectsSession: wasStored) { [store, environment] in
            try await store.update { stored in
                // A sign-out is no use of it.
                if case .signedOut = event {} else { try stored?.refuseToMove(at: store.location) }
                let decision = SessionRules.apply(event, to: &stored, known: known, at: environment.now(), then: then)
                return (decision, stored)
            }
        }
        if looks != before {
            if let latest = try? await latest() { adopt(latest) }
        } else if let stored {
            adopt(stored)
        }
        return unlessSignedOut(decision, event, known)
    }

    /// What was decided while the session was signed out here, is void: nothing of it is handed out, sent or told any more.
    private func unlessSignedOut(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ known: SessionRules.Knowledge
    ) -> SessionRules.Decision {
        guard let end = record.end else { return decision }
        if case .signedOut = event { return decision }
        if case .ended? = decision.change { return decision }
        // Where the store had nothing yet, this may have come after the sign-out.
        if !known.wasStored {
            unsaved = Unsaved(.signedOut, known: SessionRules.Knowledge(record: record, wasStored: true), lock: nil)
            storeUnsavedLater()
        }
        var void = SessionRules.Decision(.fail(SessionRules.signInRequired(end.reason)))
        void.orphan = decision.orphan
        if let response = event.response { void.orphan = response }
        return void
    }

    /// What the store has, read after all that this process has learnt of it: an older sight must not undo a newer one.
    func latest() async throws -> AuthStateRecord? {
        while true {
            let before = looks
            let loaded = try await store.attempt(expectsSession: wasStored) { [store] in try await store.load() }
            if looks == before { return loaded }
        }
    }

    /// What the store has is what is known, if it is this session, or the same person's later sign-in.
    func adopt(_ stored: AuthStateRecord) {
        guard stored.id == record.id || stored.succeeds(record), stored.move == nil, record.end == nil else { return }
        var adopted = stored
        adopted.change(record.client.unless(registeredLater: stored.client))
        if adopted.client.provider[.keys] != verification.client.provider[.keys] {
            verification = IDTokenVerification(client: adopted.client, environment: environment, keys: adopted.keys)
        }
        verification.client = adopted.client
        record = adopted
        (wasStored, isGone, hasToldEnd, looks) = (true, false, false, looks + 1)
        if let end = adopted.end { publish(.ended(end)) }
    }

    /// Stores what happened; if the store refuses, it is kept in memory, together with the lock.
    func record(
        _ event: SessionRules.Event, under lock: RefreshLock
    ) async throws -> SessionRules.Decision {
        let known = knowledge
        do { return try await step(event, known: known) } catch {
            var memory: AuthStateRecord? = record
            let now = environment.now()
            let decision = SessionRules.apply(event, to: &memory, known: knowledge, at: now)
            // Signed out meanwhile: the response is dropped.
            guard record.end == nil, let memory else { return decision }
            record = memory
            // That a refresh failed may be forgotten; a new refresh token, or that the session is over, may not.
            if case .failed(_, let failure, _) = event, failure.rotatedRefreshToken == nil, memory.end == nil {
                return decision
            }
            // The store has the refresh token already: what it lacks can be had again, and nobody has to wait for it.
            if case .handOut = decision.action, known.wasStored, known.record.refreshToken == memory.refreshToken {
                if let stored = try? await step(event, known: known, then: now) { return stored }
                if let error = error as? AuthError { publish(.storeFailed(error)) }
                return decision
            }
            unsaved = Unsaved(event, known: known, then: now, lock: lock)
            storeUnsavedLater()
            // Of a new refresh token nobody is told before the store has them.
            if case .fail = decision.action, !decision.isRenewal { return decision }
            if let error = error as? AuthError { publish(.storeFailed(error)) }
            throw error
        }
    }

    /// Tries again to store what the store refused.
    func storeUnsaved() async throws {
        while let mine = unsaved {
            do { try await storing.run { [self] in try await storeUnsavedOnce() } } catch let refusal as Refusal {
                // Again, if it was something older that the store refused, or if it was not to ask the person, and now may.
                let mayAskNow = refusal.wasUnattended && !TokenStoreCall.isUnattended
                if refusal.pending === mine, !mayAskNow { throw refusal.error }
            }
        }
    }

    /// That the store has not taken what is unsaved, for all who waited for that write.
    private struct Refusal: Error {
        let pending: Unsaved
        /// Whether it was tried without anybody who waited for it.
        let wasUnattended: Bool
        let error: any Error
    }

    private func storeUnsavedOnce() async throws {
        guard let pending = unsaved else { return }
        lastTried = pending
        let decision: SessionRules.Decision
        do { decision = try await step(pending.event, known: pending.known, then: pending.then) } catch {
            if let error = error as? AuthError { publish(.storeFailed(error)) }
            // A sign-out has left it to this write.
            if unsaved !== pending { pending.lock?.release() }
            throw Refusal(pending: pending, wasUnattended: TokenStoreCall.isUnattended, error: error)
        }
        // Before these tokens count as stored: another process may have ended the session meanwhile.
        noteEnd(decision)
        // A sign-out may have come in between.
        if unsaved === pending { unsaved = nil }
        pending.lock?.release()
        await tell(decision)
        // With it, what only memory had; see ``SessionRules`` for why nothing of a session that was replaced.
        if case .signedOut = pending.event, !decision.isReplaced { await revokeRest(of: pending.known.record) }
    }

    /// Tries now and then even if nobody asks, since the lock keeps all others waiting; and whoever has let go of the
    /// session, since the tokens are nowhere else.
    func storeUnsavedLater() {
        Task {
            var pause = 1.0
            while unsaved != nil {
                try await environment.sleep(.seconds(pause))
                try? await TokenStoreCall.$isUnattended.withValue(true) { try await storeUnsaved() }
                pause = min(60, pause * 2)
            }
        }
    }

    /// Takes over what another process has stored of this session, if it can be read, and if nothing here is newer.
    ///
    /// - Returns: Whether the store has another session in its place.
    @discardableResult
    func synchronise() async -> Bool {
        guard let stored = try? await latest() else { return false }
        guard stored.id == record.id else { return true }
        if unsaved == nil { adopt(stored) }
        return false
    }

    /// Waits until a refresh that was sent has ended and its refresh token is stored, but no longer than the limit. Brings
    /// once more to the store what it has refused.
    ///
    /// Call it before a process ends in which a caller was cancelled: callers leave at once, and the refresh that they
    /// leave behind has used up its refresh token. It waits in a cancelled task too. It does not wait for a refresh that has
    /// sent nothing, nor for the verification of what came.
    ///
    /// - Parameter limit: The default is more than a refresh takes whose every request times out (30 s each).
    public func settle(atMost limit: Duration = .seconds(90)) async {
        guard presenting.running != nil || registering?.running != nil || unsaved != nil || storing.running != nil
        else {
            return
        }
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        Task {
            await presenting.settle()
            await registering?.settle()
            try? await storeUnsaved()
            await storing.settle()
            end.finish()
        }
        let clock = Task {
            try await Task.sleep(for: limit)
            end.finish()
        }
        await Task { for await _ in ends {} }.value
        clock.cancel()
    }

    /// Ends the session here and removes it from the store; no response that is still to come brings it back, here or in
    /// another process. A newer session in its place stays.
    ///
    /// The provider is not told: see ``revokeTokens()`` and ``EndSessionRequest``. Only what a refresh has brought since
    /// ``revokeTokens()`` is revoked, too.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if it could not be removed; `CancellationError` if the task was
    ///   cancelled and the store has not removed it within two seconds. Memory has forgotten it anyway.
    public func forget() async throws { try await forget(because: "signed out") }

    func forget(because reason: String) async throws {
        let known = SessionRules.Knowledge(record: record, wasStored: true)
        let hadEnded = record.end != nil
        record.end(reason, at: environment.now().wall)
        if !hadEnded, let end = record.end { publish(.ended(end)) }
        // What is being written keeps its lock until the store has answered: the token before it may not be presented.
        if storing.running == nil || lastTried !== unsaved { unsaved?.lock?.release() }
        unsaved = Unsaved(.signedOut, known: known, lock: nil)
        // In a task of its own: a caller that is cancelled while it signs out is signed out all the same, unless the store
        // takes longer than a caller that wants to leave can wait.
        let removing = Task { try await storeUnsaved() }
        try await withTaskCancellationHandler {
            try await removing.value
        } onCancel: {
            Task {
                try await Task.sleep(for: .seconds(2))
                removing.cancel()
            }
        }
    }
}
