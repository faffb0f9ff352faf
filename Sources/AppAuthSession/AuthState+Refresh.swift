internal import AppAuthProtocol
internal import Logging

extension AuthState {
    func refresh(_ need: SessionRules.TokenRequirement) async throws -> AccessToken {
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

    private func decision(_ need: SessionRules.TokenRequirement) async throws -> SessionRules.Decision {
        // What another process has stored meanwhile is read without the lock, which not every store can lend.
        let first = try await look(.asked(need))
        guard case .waitForLock = first.action else { return first }
        return try await presentInTurn(need)
    }

    /// Decides by what the store has, and changes nothing there.
    func look(_ event: SessionRules.Event) async throws -> SessionRules.Decision {
        var loaded: AuthStateRecord?
        // What another refresh could not store meanwhile is newer than what was read.
        repeat {
            try await storeUnsaved()
            loaded = try await latest()
        } while unsaved != nil
        try loaded?.refuseToMove(at: store.location)
        var copy = loaded
        let decision = SessionRules.apply(event, to: &copy, known: knowledge, at: environment.now())
        if let loaded { adopt(loaded) }
        return decision
    }

    /// Presents the refresh token when it is this process's turn, if that is needed then.
    private func presentInTurn(_ need: SessionRules.TokenRequirement) async throws -> SessionRules.Decision {
        let (lock, turn): (RefreshLock, RefreshLock)
        switch try await self.turn(orElse: { [self] in try await look(.waited(need)) }) {
        case .held(let held, let mine): (lock, turn) = (held, mine)
        case .decided(let decision): return decision
        }
        defer { turn.release() }
        defer { if unsaved?.lock !== lock { lock.release() } }
        var need = need
        while true {
            let decision =
                switch try await presenting.run({ [self, need] in try await present(need, under: lock) }) {
                case .decided(let decision): decision
                case .toVerify(let attempt, let response): try await verify(response, to: attempt, under: lock)
                }
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
    func noteEnd(_ decision: SessionRules.Decision) {
        if case .ended? = decision.change, record.end == nil { (isGone, looks) = (true, looks + 1) }
    }

    /// Tells those who watch the session what was decided, and the provider which tokens nobody will use.
    func tell(_ decision: SessionRules.Decision) async {
        if let change = decision.change { publish(change) }
        if let orphan = decision.orphan { await revoke(orphan) }
        if let removed = decision.removed { await revokeRest(of: removed) }
    }

    func publish(_ change: Change) {
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
