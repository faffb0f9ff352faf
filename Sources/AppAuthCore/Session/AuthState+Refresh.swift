internal import FoundationEssentials
internal import JOSE
internal import Logging

/// How ``SessionRules`` are driven: with the store, its lock, and the provider.
extension AuthState {
    func refresh(_ need: SessionRules.Need) async throws -> AccessToken {
        do { return try await finish(decision(need)) } catch let error as AuthError
            where error.code == .store && error.storeProblem != .moving
        {
            // Refreshed in good time, and nothing was sent: what there is is still good.
            let token = record.token(for: need.parameters)
            guard unsaved == nil, !isGone, let token, need.putsUpWith(token, at: environment.now()) else { throw error }
            publish(.refreshFailed(error))
            return token
        }
    }

    private func decision(_ need: SessionRules.Need) async throws -> SessionRules.Decision {
        // What another process has stored meanwhile is read without the lock, which not every store can lend.
        let first = try await look(.asked(need))
        guard case .waitForLock = first.action else { return first }
        return try await presentInTurn(need)
    }

    /// Decides by what the store has, and changes nothing there.
    private func look(_ event: SessionRules.Event) async throws -> SessionRules.Decision {
        var loaded: AuthStateRecord?
        // What another refresh could not store meanwhile is newer than what was read.
        repeat {
            try await storeUnsaved()
            loaded = try await latest()
        } while unsaved != nil
        try loaded?.refuseToMove(at: store.place)
        var copy = loaded
        let decision = SessionRules.apply(event, to: &copy, known: knowledge, at: environment.now())
        if let loaded { adopt(loaded) }
        return decision
    }

    /// What the store has, read after all that this process has learnt of it: an older sight must not undo a newer one.
    private func latest() async throws -> AuthStateRecord? {
        while true {
            let before = looks
            let loaded = try await store.attempt { [store] in try await store.load() }
            if looks == before { return loaded }
        }
    }

    /// Presents the refresh token when it is this process's turn, if that is needed then.
    private func presentInTurn(_ need: SessionRules.Need) async throws -> SessionRules.Decision {
        // One at a time here, before the lock is asked for: what the store refused is tried again first, and holds it.
        let turn = try await turns.wait()
        defer { turn.release() }
        try await storeUnsaved()
        let lock: RefreshLock
        switch try await refreshLock(orElse: { [self] in try await look(.waited(need)) }) {
        case .held(let held): lock = held
        case .decided(let decision): return decision
        }
        defer { if unsaved?.lock !== lock { lock.release() } }
        isPresenting = true
        defer { isPresenting = false }
        var need = need
        while true {
            let wanted = try await step(.wanted(need))
            guard case .present(let attempt) = wanted.action else { return wanted }
            let decision = try await record(present(attempt), under: lock)
            guard case .lookAgain(let next) = decision.action else { return decision }
            need = next
        }
    }

    /// Does what was decided.
    private func finish(_ decision: SessionRules.Decision) async throws -> AccessToken {
        noteEnd(decision)
        await tell(decision)
        switch decision.action {
        case .handOut(let token): return token
        case .fail(let error): throw error
        case .waitForLock, .present, .lookAgain, .done:
            throw SessionRules.signInRequired("it changed while it was being renewed")
        }
    }

    /// That another has ended it is not noted in the record: the store may be away for a while, and come back.
    private func noteEnd(_ decision: SessionRules.Decision) {
        if case .ended? = decision.change, record.end == nil { (isGone, looks) = (true, looks + 1) }
    }

    /// Tells those who watch the session what was decided, and the provider which tokens nobody will use.
    private func tell(_ decision: SessionRules.Decision) async {
        if let change = decision.change { publish(change) }
        if let orphan = decision.orphan { await revoke(orphan) }
        if let removed = decision.removed { await revokeRest(of: removed) }
    }

    /// Sends the refresh token, once (RFC 6749 §6), or the grant, and verifies what comes.
    private func present(_ attempt: SessionRules.Attempt) async -> SessionRules.Event {
        environment.logger.info("refresh: the access token is being refreshed")
        let response: TokenResponse
        do {
            response = try await TokenEndpoint(client: record.client, environment: environment, proof: proof)
                .send(.renew(attempt), stage: .refresh)
        } catch {
            return .failed(attempt, Self.authError(error), jitter: .random(in: 0...1))
        }
        func answered(_ verdict: SessionRules.Verdict) -> SessionRules.Event {
            .answered(attempt, response, verdict, jitter: .random(in: 0...1))
        }
        do {
            let idToken = try await verifiedIDToken(of: response)
            return answered(.verified(idToken, keys: verification.keys?.entry))
        } catch {
            let error = Self.authError(error)
            return answered(error.isForeign ? .refused(error) : .unverifiable(error))
        }
    }

    /// Core §12.2: an ID token that comes with a refresh is verified like the first one, and against it.
    private func verifiedIDToken(of response: TokenResponse) async throws -> IDToken? {
        guard let token = response.idToken, let previous = record.idToken else { return nil }
        var expected = IDTokenVerifier.Expectations(nonce: record.nonce)
        expected.accessToken = response.accessToken
        expected.previous = previous
        do { return try await verification.verify(token, expected, serverClock: response.serverClock) } catch let error
            as AuthError where !error.isForeign && error.code != .clockSkew
        {
            guard await renewMetadata() else { throw error }
            return try await verification.verify(token, expected, serverClock: response.serverClock)
        }
    }

    /// Asks the provider anew by what its ID tokens are verified: what is stored may be as old as the session.
    ///
    /// - Returns: Whether it is something else than was known.
    private func renewMetadata() async -> Bool {
        let old = record.client.provider
        guard let found = try? await Discovery(environment: environment).metadata(for: old.issuer) else { return false }
        let new = old.verifying(as: found)
        guard new != old, record.end == nil else { return false }
        environment.logger.info("session: the provider verifies its ID tokens otherwise than before")
        record.client.provider = new
        let keys = new[.keys] == old[.keys] ? verification.keys?.entry : nil
        verification = IDTokenVerification(client: record.client, environment: environment, keys: keys)
        return true
    }

    private static func authError(_ error: any Error) -> AuthError {
        error as? AuthError
            ?? AuthError(
                .transport, .refresh, "the request was cancelled", outcome: .perhapsProcessed, isTemporary: true)
    }

    private func publish(_ change: Change) {
        // An end is told once, however many find it.
        if case .ended = change {
            guard !hasToldEnd else { return }
            hasToldEnd = true
        }
        switch change {
        case .renewed: environment.logger.info("session: there are new tokens")
        case .ended(let end): environment.logger.notice("session: ended: \(end.reason)")
        case .refreshFailed(let error): environment.logger.notice("session: the refresh failed: \(error)")
        case .storeFailed(let error): environment.logger.error("session: new tokens are not stored: \(error)")
        }
        feed.publish(change)
    }
}

// MARK: - Store

extension AuthState {
    private var knowledge: SessionRules.Knowledge { SessionRules.Knowledge(record: record, wasStored: wasStored) }

    /// Decides by what the store has, and stores what comes of it, in one step.
    private func step(
        _ event: SessionRules.Event, known: SessionRules.Knowledge? = nil, then: Moment? = nil
    ) async throws -> SessionRules.Decision {
        let (known, before) = (known ?? knowledge, looks)
        let (decision, stored) = try await store.attempt { [store, environment] in
            try await store.update { stored in
                // A sign-out is no use of it.
                if case .signedOut = event {} else { try stored?.refuseToMove(at: store.place) }
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
        if case .answered(_, let response, _, _) = event { void.orphan = response }
        return void
    }

    /// What the store has is what is known, if it is this session.
    private func adopt(_ stored: AuthStateRecord) {
        guard stored.id == record.id, stored.move == nil, record.end == nil else { return }
        let client = record.client.unless(registeredLater: stored.client)
        record = stored
        (record.client, verification.client) = (client, client)
        (wasStored, isGone, hasToldEnd, looks) = (true, false, false, looks + 1)
    }

    /// Stores what happened; if the store refuses, it is kept in memory, together with the lock.
    private func record(
        _ event: SessionRules.Event, under lock: RefreshLock
    ) async throws -> SessionRules.Decision {
        let known = knowledge
        do { return try await step(event, known: known) } catch {
            var memory: AuthStateRecord? = record
            let now = environment.now()
            let decision = SessionRules.apply(event, to: &memory, known: knowledge, at: now)
            // Signed out meanwhile: the answer is dropped.
            guard record.end == nil, let memory else { return decision }
            record = memory
            // That a refresh failed may be forgotten; a new refresh token, or that the session is over, may not.
            if case .failed(_, let failure, _) = event, failure.rotatedRefreshToken == nil, memory.end == nil {
                return decision
            }
            unsaved = Unsaved(event, known: known, then: now, lock: lock)
            storeUnsavedLater()
            // Of new tokens nobody is told before the store has them.
            if case .fail = decision.action, !decision.isRenewal { return decision }
            if let error = error as? AuthError { publish(.storeFailed(error)) }
            throw error
        }
    }

    /// Tries again to store what the store refused.
    func storeUnsaved() async throws {
        while let mine = unsaved {
            do { try await storing.run { [self] in try await storeUnsavedOnce() } } catch {
                // Again, if it was something older that the store refused, or if it was not to ask the person, and now may.
                let mayAskNow = wasUnattended && !TokenStoreCall.isUnattended
                if error is CancellationError || lastTried === mine && !mayAskNow { throw error }
            }
        }
    }

    private func storeUnsavedOnce() async throws {
        guard let pending = unsaved else { return }
        (lastTried, wasUnattended) = (pending, TokenStoreCall.isUnattended)
        let decision: SessionRules.Decision
        do { decision = try await step(pending.event, known: pending.known, then: pending.then) } catch {
            if let error = error as? AuthError { publish(.storeFailed(error)) }
            throw error
        }
        // Before these tokens count as stored: another process may have ended the session meanwhile.
        noteEnd(decision)
        // A sign-out may have come in between.
        if unsaved === pending { unsaved = nil }
        pending.lock?.release()
        await tell(decision)
    }

    /// Tries now and then even if nobody asks, since the lock keeps all others waiting; and whoever has let go of the
    /// session, since the tokens are nowhere else.
    private func storeUnsavedLater() {
        Task {
            var pause = 1.0
            while unsaved != nil {
                try await environment.sleep(.seconds(pause))
                try? await TokenStoreCall.$isUnattended.withValue(true) { try await storeUnsaved() }
                pause = min(60, pause * 2)
            }
        }
    }

    /// Takes over what another process has stored, if it can be read, and if nothing here is newer.
    func synchronise() async {
        guard let stored = try? await latest(), unsaved == nil else { return }
        adopt(stored)
    }

    /// Waits until a refresh and a write that are under way have ended, however they end, but no longer than the limit.
    /// What the store has refused is brought to it once more. A refresh that waits for another process's has sent
    /// nothing, and is not waited for.
    ///
    /// Call it before a process ends in which a caller was cancelled: callers leave at once, and the refresh that they
    /// leave behind has used up its refresh token. It waits in a cancelled task too.
    public func settle(atMost limit: Duration) async {
        guard isPresenting || unsaved != nil || storing.running != nil else { return }
        let (ends, end) = AsyncStream.makeStream(of: Never.self)
        Task {
            if isPresenting { for flight in counter.flights { await flight.settle() } }
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

    /// Ends the session here and removes it from the store; no answer that is still to come brings it back, here or in
    /// another process. A newer session in its place stays.
    ///
    /// The provider is not told: see ``revokeTokens()`` and ``EndSessionRequest``.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if it could not be removed; memory has forgotten it anyway.
    public func forget() async throws { try await forget(because: "signed out") }

    func forget(because reason: String) async throws {
        let known = SessionRules.Knowledge(record: record, wasStored: true)
        let hadEnded = record.end != nil
        record.end(reason, at: environment.now().wall)
        if !hadEnded, let end = record.end { publish(.ended(end)) }
        // In a task of its own: who is cancelled while signing out has to be signed out all the same.
        unsaved?.lock?.release()
        unsaved = Unsaved(.signedOut, known: known, lock: nil)
        try await Task { try await storeUnsaved() }.value
    }
}

extension TokenRequest {
    fileprivate static func renew(_ attempt: SessionRules.Attempt) throws -> TokenRequest {
        switch attempt.renewal {
        case .refreshToken(let token): try refresh(token, attempt.need.parameters)
        case .grant(let grant): try present(grant, attempt.need.parameters)
        }
    }
}
