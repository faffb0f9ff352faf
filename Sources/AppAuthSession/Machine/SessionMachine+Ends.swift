internal import AppAuthProtocol

/// The ends of operations. After each of them the caller has its result:
///
/// - `conclude`: a refresh, with a decision of ``SessionRules``, which may also publish a change and revoke tokens.
/// - `fail`: any operation, if the store or its lock has failed. A refresh may return the token that is still valid.
/// - `finish`: the other operations. One that changes the registration can go on, with the lock.
/// - `remove`: the last step of each. It releases the lock, unless an unsaved change keeps it.
extension SessionMachine {
    /// Ends a refresh with a decision of ``SessionRules``.
    mutating func conclude(_ id: ID, _ decision: SessionRules.Decision) {
        guard case .token(let need)? = operations[id]?.purpose else { return }
        remove(id)
        report(decision)
        let result: Result<Outcome, any Error> =
            switch decision.action {
            case .handOut(let token): .success(.token(token))
            case .fail(let error): orToken(error, need)
            // None of these comes here: `waitForLock`, `send` and `decideAgain` have led to another phase, and so has
            // `done`, which only the write of a refresh token returns to a refresh.
            case .waitForLock, .send, .decideAgain, .done:
                .failure(SessionRules.signInRequired("it changed during the refresh"))
            }
        let tokens = decision.orphan?.revocable ?? []
        effects += tokens.isEmpty ? [.finish(id, result)] : [.revoke(tokens), .finishAfterRevocations(id, result)]
    }

    /// Ends an operation with an error of the store or of its lock.
    mutating func fail(_ id: ID, _ error: any Error) {
        guard case .token(let need)? = operations[id]?.purpose else { return finish(id, .failure(error)) }
        remove(id)
        effects.append(.finish(id, orToken(error, need)))
    }

    /// Returns the current token instead of an error if the refresh was early and the store failed before anything was
    /// sent: the token is still valid.
    private mutating func orToken(
        _ error: any Error, _ need: SessionRules.TokenRequirement
    ) -> Result<Outcome, any Error> {
        guard let error = error as? AuthError, error.code == .store, error.storeProblem != .moving, isOpen,
            let token = record.token(for: need.parameters), need.acceptsForNow(token, at: now)
        else { return .failure(error) }
        publish(.refreshFailed(error))
        return .success(.token(token))
    }

    /// Reports the result of an operation to its caller.
    ///
    /// - Parameter keepsLock: Whether the caller goes on under the lock.
    mutating func finish(_ id: ID, _ result: Result<Outcome, any Error>, keepsLock: Bool = false) {
        if keepsLock { operations[id]?.phase = .working } else { remove(id) }
        effects.append(.finish(id, result))
    }

    /// Removes an operation and releases its lock, unless an unsaved change keeps the lock.
    mutating func remove(_ id: ID) {
        guard let operation = operations.removeValue(forKey: id) else { return }
        dropCalls(of: id)
        guard let index = queue.firstIndex(of: id) else { return }
        queue.remove(at: index)
        if operation.phase.isWaiting { effects.append(.stopWaiting(id)) }
        releaseLock(of: id)
        advanceQueue()
    }

    /// Releases the lock of an operation that has it no longer, unless an unsaved change needs it. The write of such a
    /// change keeps the lock until the store has responded, even if a sign-out has replaced the change: the refresh token
    /// before it must not be sent.
    mutating func releaseLock(of id: ID) {
        let keepers = [unsaved?.lock, current?.unsaved?.lock]
        if !queue.contains(id), !keepers.contains(id) { effects.append(.unlock(id)) }
    }

    /// Drops the calls that an operation has requested and no longer needs.
    mutating func dropCalls(of id: ID) {
        savers.removeAll { $0 == id }
        calls.removeAll { $0.operation == id }
    }

    // MARK: - The end of the session

    /// Ends the session in memory, and leaves its removal to the next save. It takes no refresh lock, whose holder may be
    /// stopped. A refresh that runs finds the end with its next call.
    mutating func signOut(because reason: String) {
        // The first sign-out knows the tokens.
        if case .signedOut? = unsaved?.event { return }
        let (known, wasAuthorized, lock) = (knownNow, isAuthorized, unsaved?.lock)
        record.end(reason, at: now.wall)
        if wasAuthorized, let end = record.end { publish(.ended(end)) }
        setUnsaved(.signedOut, known: known, lock: nil)
        if let lock { releaseLock(of: lock) }
    }

    /// Voids a decision if the session was signed out here meanwhile: nothing of it is handed out, sent or reported.
    func unlessSignedOut(
        _ decision: SessionRules.Decision, _ event: SessionRules.Event, _ known: SessionRules.Knowledge
    ) -> SessionRules.Decision {
        // `adopt` has run: the end may be this decision's, or that of a sign-out while the call was in progress.
        guard let end = record.end else { return decision }
        if case .ended? = decision.change { return decision }
        var void = SessionRules.Decision(.fail(SessionRules.signInRequired(end.reason)))
        void.orphan = decision.orphan
        // If the sign-out was known, the decision already considers whether another session is in the store. If it was
        // not, the tokens would have been used, unless a later sign-in has replaced the session.
        if known.record.end == nil, !decision.isToDecideAgain { void.orphan = event.response }
        return void
    }

    /// Reports a decision to the observers of the session. If another process has ended the session, the record does
    /// not note it: the store may only be away for a while.
    mutating func report(_ decision: SessionRules.Decision) {
        switch decision.change {
        // The end is known: `adopt` or `signOut` has published it, or an earlier decision.
        case .ended? where !isAuthorized: break
        case .ended(let end)?:
            situation = .missing
            publish(.ended(end))
        case let change?: publish(change)
        case nil: break
        }
        if let error = decision.unverified { publish(.refreshFailed(error)) }
    }

    /// Returns the tokens of a session that has ended which the app has not revoked, if it has revoked the session's
    /// tokens. They count as revoked from now on.
    mutating func unrevokedTokens(of ended: AuthStateRecord) -> [RevocableToken] {
        guard !revoked.isEmpty else { return [] }
        let tokens = ended.revocable.filter { !revoked.contains($0.value) }
        revoked.formUnion(tokens.map(\.value))
        return tokens
    }
}
