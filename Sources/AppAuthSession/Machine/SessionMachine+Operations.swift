internal import AppAuthProtocol

/// The phases of an operation, from a caller's request to its token.
extension SessionMachine {
    mutating func begin(_ id: ID, _ purpose: Purpose) {
        let phase: Phase =
            switch purpose {
            case .signOut, .save: .awaitingSave
            case .token, .read, .registration: .reading
            }
        operations[id] = Operation(id: id, purpose: purpose, phase: phase, timeLeft: patience.limit)
        switch purpose {
        // Not every store can provide the lock: first read without it what another process may have stored.
        case .token: read(id)
        case .read(let isUnattended): calls.append(Call(operation: id, work: .load, isUnattended: isUnattended))
        case .registration: enterQueue(id)
        case .signOut(let reason):
            signOut(because: reason)
            save(for: id)
        case .save: proceed(id)
        }
    }

    /// Ends an operation whose caller no longer waits. A refresh goes on for its other callers. A write of a result and
    /// work under the lock go on too.
    mutating func leave(_ id: ID) {
        guard let operation = operations[id] else { return }
        switch (operation.purpose, operation.phase) {
        case (.token, _), (_, .working), (_, .storing): break
        default: finish(id, .failure(CancellationError()))
        }
    }

    // MARK: - Reading

    /// Reads the store, or first saves the unsaved change, which is newer than the stored session.
    mutating func read(_ id: ID) {
        if unsaved != nil {
            save(for: id)
        } else {
            calls.append(Call(operation: id, work: .load, isUnattended: isReadingWhileWaiting(id)))
        }
    }

    func isReadingWhileWaiting(_ id: ID) -> Bool { operations[id]?.isReadingWhileWaiting ?? false }

    /// Continues an operation once nothing is unsaved.
    mutating func proceed(_ id: ID) {
        guard let operation = operations[id] else { return }
        if unsaved != nil { return save(for: id) }
        switch (operation.purpose, operation.phase) {
        case (.signOut, _), (.save, _):
            remove(id)
            effects.append(.finishAfterRevocations(id, .success(.done)))
        case (_, .awaitingSave):
            operations[id]?.phase = .locking
            effects.append(.lock(id, expectsSession: wasStored))
        default: read(id)
        }
    }

    mutating func loaded(_ id: ID, _ result: Result<AuthStateRecord?, any Error>) {
        guard let operation = operations[id] else { return }
        switch operation.purpose {
        case .token(let need): loadedForToken(operation, need, result)
        case .registration:
            do {
                try adoptForChange(result.get())
                finish(id, .success(.done), keepsLock: true)
            } catch { finish(id, .failure(error)) }
        case .read: finish(id, result.map { .read(replacement: adoptSame($0)) })
        case .signOut, .save: break
        }
    }

    private mutating func loadedForToken(
        _ operation: Operation, _ need: SessionRules.TokenRequirement, _ result: Result<AuthStateRecord?, any Error>
    ) {
        let (id, isReadingWhileWaiting) = (operation.id, operation.isReadingWhileWaiting)
        if case .reading = operation.phase {} else if !isReadingWhileWaiting { return }
        let record: AuthStateRecord?
        do {
            record = try result.get()
            // A change that a refresh could not store meanwhile is newer than the session that was read.
            if unsaved != nil { return read(id) }
            try record?.refuseToMove(at: location)
        } catch {
            // A later read may succeed.
            return isReadingWhileWaiting ? keepWaiting(id) : fail(id, error)
        }
        var copy = record
        let phase: SessionRules.LockPhase = isReadingWhileWaiting ? .waiting : .unlocked
        let decision = rules(.tokenNeeded(need, phase), &copy, knownNow, now, nil)
        if let record { adopt(record) }
        guard case .waitForLock = decision.action else { return conclude(id, decision) }
        if isReadingWhileWaiting { return keepWaiting(id) }
        enterQueue(id)
    }

    // MARK: - Waiting for the lock

    private mutating func enterQueue(_ id: ID) {
        operations[id]?.phase = .queued
        queue.append(id)
        effects.append(.wait(id, min(patience.pause, patience.limit)))
        advanceQueue()
    }

    /// Lets the first operation in the queue continue. Only one operation of this process asks for the lock, and only
    /// after the unsaved change is stored, since that change has the lock.
    mutating func advanceQueue() {
        guard let first = queue.first, case .queued? = operations[first]?.phase else { return }
        operations[first]?.phase = .awaitingSave
        // A read in progress does not matter: the unsaved change is newer. Since the operation no longer polls, the read
        // is ignored when it returns, and the save may prompt the user.
        if unsaved != nil, isReadingWhileWaiting(first) { keepWaiting(first) }
        proceed(first)
    }

    /// Handles the end of a pause. The holder of the lock may be stopped, or may have stored new tokens.
    mutating func waited(_ id: ID) {
        guard let operation = operations[id], operation.phase.isWaiting else { return }
        let left = operation.timeLeft - min(patience.pause, operation.timeLeft)
        operations[id]?.timeLeft = left
        guard left > .zero else { return effects.append(.lockTimedOut(id)) }
        switch (operation.purpose, operation.phase) {
        case (.token, .queued), (.token, .locking):
            operations[id]?.isReadingWhileWaiting = true
            read(id)
        default: keepWaiting(id)
        }
    }

    mutating func keepWaiting(_ id: ID) {
        guard let operation = operations[id], operation.phase.isWaiting else { return }
        operations[id]?.isReadingWhileWaiting = false
        effects.append(.wait(id, min(patience.pause, operation.timeLeft)))
    }

    mutating func locked(_ id: ID, _ error: (any Error)?) {
        guard let operation = operations[id], operation.phase.isWaiting else {
            // The lock came too late.
            if error == nil { releaseLock(of: id) }
            return
        }
        if let error { return fail(id, error) }
        operations[id]?.isReadingWhileWaiting = false
        dropCalls(of: id)
        effects.append(.stopWaiting(id))
        switch operation.purpose {
        case .token: mark(id)
        case .registration:
            operations[id]?.phase = .working
            calls.append(Call(operation: id, work: .load))
        case .signOut, .save, .read: break
        }
    }

    // MARK: - With the lock

    mutating func mark(_ id: ID) {
        guard case .token(let need)? = operations[id]?.purpose else { return }
        update(id, .tokenNeeded(need, .held), in: .marking)
    }

    private mutating func update(_ id: ID, _ event: SessionRules.Event, in phase: Phase = .storing()) {
        operations[id]?.phase = phase
        calls.append(Call(operation: id, work: .update(event, at: nil)))
    }

    mutating func responded(_ id: ID, _ result: Result<TokenResponse, AuthError>, _ jitter: Double) {
        guard case .sending(let attempt)? = operations[id]?.phase else { return }
        operations[id]?.mayLoseRefreshToken = (try? result.get()).map { $0.refreshToken != nil } ?? true
        switch result {
        case .failure(let error): update(id, .failed(attempt, error, jitter: jitter))
        // OpenID Connect Core §12.2: if the session has no ID token, one in the response is not used.
        case .success(let response) where response.idToken == nil || record.idToken == nil:
            update(id, .completed(attempt, response, idToken: .absent, jitter: jitter))
        case .success(let response) where response.refreshToken == nil: verify(id, attempt, response)
        case .success(let response):
            // The verification may take minutes to fetch metadata and keys. If the process dies meanwhile, the only
            // valid refresh token must not be lost with it.
            update(id, .received(attempt, response), in: .storingRefreshToken(attempt, response))
        }
    }

    private mutating func verify(_ id: ID, _ attempt: SessionRules.Attempt, _ response: TokenResponse) {
        operations[id]?.phase = .verifying(attempt, response)
        effects.append(.verify(id, response))
    }

    mutating func verified(_ id: ID, _ outcome: SessionRules.IDTokenOutcome, _ jitter: Double) {
        guard case .verifying(let attempt, let response)? = operations[id]?.phase else { return }
        update(id, .completed(attempt, response, idToken: outcome, jitter: jitter))
    }

    mutating func registered(_ id: ID, _ client: Client) {
        guard case .working? = operations[id]?.phase else { return }
        // No earlier read is newer than this.
        record.client = client
        update(id, .registered(client))
    }

    // MARK: - Results of the store

    mutating func updated(_ id: ID, _ call: Call, _ decision: SessionRules.Decision) {
        guard let operation = operations[id], case .update(let event, _) = call.work else { return }
        let decision = unlessSignedOut(decision, event, call.knownAtCall ?? knownNow)
        if case .registration = operation.purpose { return finish(id, .success(.done), keepsLock: true) }
        switch (decision.action, operation.phase) {
        case (.send(let attempt), _):
            operations[id]?.phase = .sending(attempt)
            effects.append(.send(id, attempt))
        case (.decideAgain, _): mark(id)
        case (.done, .storingRefreshToken(let attempt, let response)):
            operations[id]?.mayLoseRefreshToken = false
            verify(id, attempt, response)
        default: conclude(id, decision)
        }
    }

    mutating func notUpdated(_ id: ID, _ call: Call, _ error: any Error) {
        guard let operation = operations[id], case .update(let event, _) = call.work, let known = call.knownAtCall
        else { return }
        switch (operation.purpose, operation.phase) {
        // The write after the verification includes the refresh token.
        case (_, .storingRefreshToken(let attempt, let response)): verify(id, attempt, response)
        case (_, .storing(let inMemory?)):
            if let error = error as? AuthError { publish(.storeFailed(error)) }
            conclude(id, unlessSignedOut(inMemory, event, known))
        case (.registration, .storing):
            // An unsaved sign-out removes the registration too.
            if unsaved == nil {
                setUnsaved(event, known: known, lock: id)
                retryLater()
                if let error = error as? AuthError { publish(.storeFailed(error)) }
            }
            finish(id, .failure(error), keepsLock: true)
        case (_, .storing): rejected(id, event, known, error)
        default: fail(id, error)
        }
    }
}
