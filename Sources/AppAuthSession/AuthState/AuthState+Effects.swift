internal import AppAuthProtocol
internal import Logging

/// The execution of a ``SessionMachine``'s effects. An effect that takes time is a task; its result is the next input.
extension AuthState {
    /// Begins an operation and waits for its outcome. If the caller is cancelled, it leaves the operation.
    func perform(
        _ purpose: SessionMachine.Purpose, as id: SessionMachine.ID? = nil
    ) async throws -> SessionMachine.Outcome {
        let id = id ?? newID()
        return try await withTaskCancellationHandler {
            try await outcome(of: id) { take(.begin(id, purpose)) }
        } onCancel: {
            Task { await self.take(.leave(id)) }
        }
    }

    func newID() -> SessionMachine.ID {
        lastID += 1
        return lastID
    }

    /// Waits for the outcome of the operation that `begin` starts.
    func outcome(of id: SessionMachine.ID, after begin: () -> Void) async throws -> SessionMachine.Outcome {
        try await withCheckedThrowingContinuation { continuation in
            waiting[id] = continuation
            begin()
        }
    }

    func take(_ input: SessionMachine.Input) {
        let revision = machine.revision
        let effects = machine.handle(input, at: environment.now())
        if machine.revision != revision { show() }
        for effect in effects { execute(effect) }
        guard !settling.isEmpty, !machine.isExposed else { return }
        for continuation in settling { continuation.resume() }
        settling = []
    }

    /// Publishes the current state to callers that do not wait for this actor.
    private func show() {
        if record.client.provider[.keys] != verifier.client.provider[.keys] {
            verifier = JWTVerifier(client: record.client, environment: environment, keys: record.keys)
        }
        verifier.client = record.client
        cache.show(record, isOpen: machine.isOpen)
    }

    private func execute(_ effect: SessionMachine.Effect) {
        switch effect {
        case .call(let call):
            let lock = call.lock.flatMap { locks[$0] }
            Task {
                take(
                    .storeReturned(
                        await TokenStoreCall.$refreshLock.withValue(lock) { await store.serve(call, environment) }))
            }
        case .lock(let id, let expectsSession): acquireLock(id, expectsSession: expectsSession)
        case .unlock(let id):
            locks.removeValue(forKey: id)?.release()
            locking.removeValue(forKey: id)?.cancel()
        case .lockTimedOut(let id):
            Task { take(.locked(id, await store.lockIsHeld(for: environment.lockPatience.limit))) }
        case .wait(let id, let pause):
            timers[id] = Task {
                // While the machine sleeps, the holder of the lock cannot go on either.
                try await Task.sleep(for: pause, clock: .suspending)
                take(.waited(id))
            }
        case .stopWaiting(let id): timers.removeValue(forKey: id)?.cancel()
        case .retry(let number, let pause):
            Task {
                try await environment.sleep(pause)
                take(.retry(number))
            }
        case .send(let id, let attempt):
            // Without the lock, another holder may be sending this refresh token, or may have used it up.
            let isHeld = locks[id]?.isHeld ?? false
            Task {
                let result = isHeld ? await sendRefresh(attempt) : .failure(lockWasLost)
                take(.responded(id, result, jitter: .random(in: 0...1)))
            }
        case .verify(let id, let response):
            Task { take(.verified(id, await verify(response), jitter: .random(in: 0...1))) }
        case .publish(let change): publish(change)
        case .revoke(let tokens): beginRevoking { _ = await self.revoke(tokens) }
        case .finish(let id, let result): waiting.removeValue(forKey: id)?.resume(with: result)
        case .finishAfterRevocations(let id, let result):
            Task { [revoking] in
                await revoking?.value
                waiting.removeValue(forKey: id)?.resume(with: result)
            }
        }
    }

    /// Revokes tokens that will not be used, after all earlier revocations. A sign-out and ``settle(atMost:)`` wait for it.
    func beginRevoking(_ revoke: @escaping @Sendable () async -> Void) {
        environment.logger.notice("session: revoking tokens that are no longer needed")
        let previous = revoking
        revocations += 1
        revoking = Task {
            await previous?.value
            await revoke()
            revocations -= 1
            if revocations == 0 { revoking = nil }
        }
    }

    private var lockWasLost: AuthError {
        AuthError(
            .store, .store, "the refresh lock of \(store.location) was lost before the refresh token was sent",
            outcome: .notSent, isTemporary: true)
    }

    private func acquireLock(_ id: SessionMachine.ID, expectsSession: Bool) {
        locking[id] = Task { [store] in
            do {
                let lock = try await store.convertingErrors(expectsSession: expectsSession) {
                    try await store.refreshLock()
                }
                // The lock came too late.
                guard locking.removeValue(forKey: id) != nil else { return lock.release() }
                locks[id] = lock
                take(.locked(id, nil))
            } catch {
                locking.removeValue(forKey: id)
                take(.locked(id, error))
            }
        }
    }

    private func publish(_ change: SessionChange) {
        switch change {
        case .renewed: environment.logger.info("session: there are new tokens")
        case .ended(let end): environment.logger.notice("session: ended: \(end.reason)")
        case .refreshFailed(let error): environment.logger.notice("session: the refresh failed: \(error)")
        case .storeFailed(let error): environment.logger.error("session: new tokens are not stored: \(error)")
        }
        feed.publish(change)
    }
}

extension TokenStore {
    /// Reads or changes the stored session.
    fileprivate func serve(
        _ call: SessionMachine.StoreCall, _ environment: Environment
    ) async -> Result<SessionMachine.StoreResult, any Error> {
        // The store may make the change on a thread of its own, where no task-local value is set.
        let lock = TokenStoreCall.refreshLock
        do {
            return .success(
                try await TokenStoreCall.$isUnattended.withValue(call.isUnattended) {
                    try await convertingErrors(expectsSession: call.expectsSession) {
                        switch call.work {
                        case .load: .loaded(try await load())
                        case .update(let event, let known, let time):
                            try await update { stored in
                                var known = known
                                // The store may have noticed it just now.
                                known.lockWasLost = lock?.wasLost ?? false
                                let decision =
                                    try SessionRules.duringMove(event, stored, at: location)
                                    ?? SessionRules.apply(
                                        event, to: &stored, known: known, at: environment.now(), occurredAt: time)
                                return .updated(decision, stored)
                            }
                        }
                    }
                })
        } catch { return .failure(error) }
    }
}
