internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import Logging

/// The store of a session, in order: one call at a time, and what a call has found is adopted before the next one begins. So
/// nothing that was read is older than what is in memory.
///
/// What the store lacks is the unsaved change, and an access token that was handed out although the store has rejected it.
extension AuthState {
    /// A change that the store has not accepted. If it has the lock, no process may send the refresh token that the store
    /// still has: it is used up.
    struct UnsavedChange {
        let number: Int
        let event: SessionRules.Event
        let known: AuthStateRecord
        /// The time of the change. Pauses begin there.
        let time: Timestamp
        /// Nil for a sign-out, which needs no lock.
        let lock: RefreshLock?

        var isSignOut: Bool { if case .signedOut = event { true } else { false } }
    }

    private func inTurn<Value>(_ work: () async throws -> Value) async throws -> Value {
        let turn = try await storeTurns.turn()
        defer {
            turn.end()
            show()
        }
        return try await work()
    }

    // MARK: - Reading

    /// Reads the store, or first saves what is unsaved, and decides about a caller's need.
    ///
    /// - Parameter lock: The refresh lock, if the store is to make room for new tokens.
    func read(
        _ need: SessionRules.TokenRequirement, _ lockState: SessionRules.LockState,
        preparingUnder lock: RefreshLock? = nil,
        isUnattended: Bool = false
    ) async throws -> SessionRules.Decision {
        try await inTurn {
            while true {
                try await saveNow(isUnattended: isUnattended)
                let stored = try await load(preparingUnder: lock, isUnattended: isUnattended)
                // The app has signed out meanwhile.
                if unsaved != nil { continue }
                var copy = stored
                let decision = rules(.tokenNeeded(need, lockState), &copy, record, environment.now(), nil)
                if let stored { adopt(stored) }
                report(decision)
                return decision
            }
        }
    }

    /// Adopts this session as another process has stored it, unless something here is newer. If another process has
    /// removed the session or replaced it by another user's, reports its end.
    ///
    /// - Returns: The session that the store has instead, if it has another.
    func readReplacement(isUnattended: Bool) async throws -> AuthStateRecord? {
        try await inTurn {
            let stored = try await load(isUnattended: isUnattended)
            if let stored, stored.id == record.id {
                let token = record.accessToken
                if unsaved == nil { adopt(stored) }
                if record.accessToken != token, isAuthorized { publish(.renewed(record)) }
                return nil
            }
            // A refresh goes on with a later sign-in of the same user.
            if unsaved == nil, isAuthorized, !(stored?.succeeds(record) ?? false) {
                let reason = stored == nil ? SessionRules.signedOutElsewhere : SessionRules.replacedElsewhere
                isMissing = true
                publish(.ended(AuthStateRecord.End(reason: reason, date: environment.now().wall)))
            }
            return stored
        }
    }

    /// Adopts the session as it is stored, so that a change of its registration starts from there and can be stored.
    ///
    /// - Throws: If the store has this session no longer, or has another.
    func readForChange() async throws {
        try await inTurn {
            let stored = try await load()
            if let stored, unsaved == nil { adopt(stored) }
            // A session that has ended keeps its registration in memory.
            guard record.end == nil else { return }
            if let end = stored?.end { throw SessionRules.signInRequired(end.reason) }
            guard let stored else { throw SessionRules.signInRequired(SessionRules.signedOutElsewhere) }
            if stored.id != record.id { throw SessionRules.sessionReplaced }
        }
    }

    private func load(
        preparingUnder lock: RefreshLock? = nil, isUnattended: Bool = false
    ) async throws -> AuthStateRecord? {
        let call = TokenStoreCall(isUnattended: isUnattended, expectsSession: true, grant: lock?.grant)
        return try await store.convertingErrors { [store] in
            try await lock == nil ? store.load(call) : store.prepareForRefresh(call)
        }
    }

    // MARK: - Changing

    /// Reads and writes the store in one step, as the rules decide, and adopts what it has then.
    ///
    /// - Parameter isKept: Whether a result that the store rejects is kept, if it would be lost.
    func change(
        _ event: SessionRules.Event, under lock: RefreshLock, isKept: Bool = false
    ) async throws -> SessionRules.Decision {
        let decision = try await inTurn {
            let before = record
            do {
                let (decision, stored) = try await update(event, before, at: nil, under: lock)
                if let stored { adopt(stored) }
                let valid = unlessSignedOut(decision, event, stored)
                report(valid)
                return valid
            } catch {
                guard isKept else { throw error }
                return try keep(event, before, lock, error)
            }
        }
        if let tokens = decision.orphan?.revocable, !tokens.isEmpty {
            beginRevoking { _ = await self.revoke(tokens) }
            await revoking?.value
        }
        return decision
    }

    private func update(
        _ event: SessionRules.Event, _ known: AuthStateRecord, at time: Timestamp?, under lock: RefreshLock?,
        isUnattended: Bool = false
    ) async throws -> (SessionRules.Decision, AuthStateRecord?) {
        let call = TokenStoreCall(isUnattended: isUnattended, expectsSession: true, grant: lock?.grant)
        return try await store.convertingErrors { [store, rules, environment] in
            try await store.update(call) { stored in
                let decision = rules(event, &stored, known, environment.now(), time)
                return (decision, stored)
            }
        }
    }

    /// Handles a result that the store has rejected. What matters is what would be lost if it were dropped.
    private func keep(
        _ event: SessionRules.Event, _ before: AuthStateRecord, _ lock: RefreshLock, _ error: any Error
    ) throws -> SessionRules.Decision {
        // The decision if the store had the session in memory.
        var copy: AuthStateRecord? = record
        let decision = rules(event, &copy, record, environment.now(), nil)
        // The result is void: memory has a later sign-in or refresh token, or the session was signed out.
        if decision.isToDecideAgain { return decision }
        guard let after = copy, record.end == nil else {
            report(decision)
            return decision
        }
        let storeError = error as? AuthError
        switch (after.end, after.refreshToken == before.refreshToken) {
        case (nil, true):
            // The store lacks only a failure, or what can be fetched again. Of a session that another process has removed, as
            // was read during a slow step of this refresh, nobody gets it.
            guard !isMissing else { throw error }
            record = after
            if decision.isRenewal, let storeError { publish(.storeFailed(storeError)) }
            if decision.isHandOut || !decision.isRenewal { report(decision) }
            return decision
        case (nil, false): record = after
        // The session in memory goes on: the same user may have signed in again, and only the store knows.
        case (_?, _): break
        }
        setUnsaved(event, before, lock)
        saveLater()
        // The response was unusable, except for its refresh token: its caller gets that error.
        if after.end == nil, decision.isFailure {
            report(decision)
            return decision
        }
        // Nothing new is handed out or reported before the store has it.
        if let storeError { publish(.storeFailed(storeError)) }
        throw error
    }

    /// Stores a registration that the provider has accepted, or keeps it: the previous registration access token is invalid.
    func storeRegistration(_ client: Client, under lock: RefreshLock) async throws {
        _ = try await inTurn {
            let before = record
            do {
                _ = try await update(.registered(client), before, at: nil, under: lock)
            } catch {
                // An unsaved sign-out removes the registration too.
                if unsaved == nil {
                    setUnsaved(.registered(client), before, lock)
                    saveLater()
                    if let error = error as? AuthError { publish(.storeFailed(error)) }
                }
                throw error
            }
        }
    }

    // MARK: - The unsaved change

    func setUnsaved(_ event: SessionRules.Event, _ known: AuthStateRecord, _ lock: RefreshLock?) {
        unsavedNumber += 1
        unsaved = UnsavedChange(number: unsavedNumber, event: event, known: known, time: environment.now(), lock: lock)
    }

    func save() async throws { try await inTurn { try await saveNow() } }

    private func saveNow(isUnattended: Bool = false) async throws {
        while let mine = unsaved {
            saves += 1
            defer { saves -= 1 }
            do {
                let (found, stored) = try await update(
                    mine.event, mine.known, at: mine.time, under: mine.lock, isUnattended: isUnattended)
                if let stored { adopt(stored) }
                let decision = mine.isSignOut ? found : unlessSignedOut(found, mine.event, stored)
                if unsaved?.number == mine.number { (unsaved, isMissing) = (nil, false) }
                report(decision)
                var tokens = decision.orphan?.revocable ?? []
                // If the app has revoked the session's tokens, its sign-out also revokes those that only the store or only
                // memory had, unless another sign-in has replaced the session; ``SessionRules`` gives the reason.
                if mine.isSignOut, !revoked.isEmpty, stored == nil || stored?.id == mine.known.id {
                    let ended = (decision.removed?.revocable ?? []) + mine.known.revocable
                    tokens += ended.filter { revoked.insert($0.value).inserted }
                }
                if !tokens.isEmpty { beginRevoking { [tokens] in _ = await self.revoke(tokens) } }
            } catch {
                if let error = error as? AuthError { publish(.storeFailed(error)) }
                // Otherwise a sign-out has replaced this change meanwhile, and is written instead.
                if unsaved?.number == mine.number {
                    saveLater()
                    throw error
                }
            }
        }
    }

    /// Tries again after 1, 2, 4 … 60 s. The lock keeps all others waiting, and the caller may have left.
    func saveLater() {
        guard saving == nil else { return }
        saving = Task {
            var pause = Duration.seconds(1)
            while unsaved != nil, (try? await environment.sleep(pause)) != nil {
                try? await inTurn { try await saveNow(isUnattended: true) }
                pause = min(.seconds(60), pause * 2)
            }
            saving = nil
        }
    }

    // MARK: - Adopting

    /// Adopts the stored session if it is this one or a later sign-in of the same user. A session that has ended adopts
    /// nothing. Publishes an end that the stored session has.
    private func adopt(_ stored: AuthStateRecord) {
        guard stored.id == record.id || stored.succeeds(record), record.end == nil else { return }
        let wasAuthorized = isAuthorized
        var adopted = stored
        adopted.use(record.client)
        // A token that was handed out although the store has rejected it.
        if stored.refreshToken == record.refreshToken, let token = record.accessToken, let theirs = stored.accessToken,
            theirs.received.elapsed(until: token.received) ?? .zero > .zero
        {
            adopted.accessToken = token
        }
        record = adopted
        if unsaved == nil { isMissing = false }
        if let end = adopted.end, wasAuthorized { publish(.ended(end)) }
    }

    /// Decides anew if the app has signed out while the store was called: nothing of the result is handed out or reported.
    private func unlessSignedOut(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ stored: AuthStateRecord?
    ) -> SessionRules.Decision {
        // `adopt` has run: the end may be this decision's.
        if record.end == nil { return decision }
        if case .ended? = decision.change { return decision }
        var copy = stored
        return rules(event, &copy, record, environment.now(), nil)
    }

    /// Reports a decision to the observers of the session. If another process has ended the session, the record does
    /// not note it: the store may only be away for a while.
    private func report(_ decision: SessionRules.Decision) {
        switch decision.change {
        // The end is known: `adopt` or a sign-out has published it, or an earlier decision.
        case .ended? where !isAuthorized: break
        case .ended(let end)?:
            isMissing = true
            publish(.ended(end))
        case let change?: publish(change)
        case nil: break
        }
        if let error = decision.unverified {
            environment.logger.notice("session: the ID token of the refresh is not verified: \(error)")
            feed.publish(.refreshFailed(error))
        }
    }

    func publish(_ change: SessionChange) {
        switch change {
        case .renewed: environment.logger.info("session: there are new tokens")
        case .ended(let end): environment.logger.notice("session: ended: \(end.reason)")
        case .refreshFailed(let error): environment.logger.notice("session: the refresh failed: \(error)")
        case .storeFailed(let error): environment.logger.error("session: new tokens are not stored: \(error)")
        }
        // An observer may ask for the token at once.
        show()
        feed.publish(change)
    }

    /// Publishes the current state to callers that do not wait for this actor.
    func show() {
        if record.client.provider[.keys] != verifier.client.provider[.keys] {
            verifier = JWTVerifier(client: record.client, environment: environment, keys: record.keys)
        }
        verifier.client = record.client
        if let stored = record.keys { verifier.keys?.adopt(stored) }
        cache.show(record, isOpen: isOpen)
    }
}
