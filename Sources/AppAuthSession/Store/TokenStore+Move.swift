internal import AppAuthProtocol

extension TokenStore {
    /// Moves the session into another store. Waits for refreshes that are in progress, two minutes at most.
    ///
    /// If an app wants its session in another store, it calls this each time before it uses that store. If there is
    /// nothing to move, this only reads the stores. If an earlier call was interrupted, this continues it.
    ///
    /// An ``AuthState`` on this store does not move with the session: create a new one. Until the session has arrived,
    /// its use in the other store fails with ``StoreProblem/moving``.
    ///
    /// - Returns: Whether a session was moved.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``, also if the other store has another session, or the same
    ///   one (a copy, or the same location under another name); `CancellationError`. In all these cases nothing is
    ///   lost: a further call continues the move.
    @discardableResult
    public func moveSession(to target: some TokenStore) async throws -> Bool {
        try await moveSession(to: target, waitingAtMost: LockPatience().limit)
    }

    package func moveSession(to target: some TokenStore, waitingAtMost limit: Duration) async throws -> Bool {
        guard location != target.location else { return false }
        func store(_ side: SessionMove.Side) -> any TokenStore {
            switch side {
            case .source: self
            case .target: target
            }
        }
        var move = SessionMove(from: location, to: target.location)
        var locks: [SessionMove.Side: RefreshLock] = [:]
        defer { for lock in locks.values { lock.release() } }
        let end = SuspendingClock.now + limit
        var effect = move.begin()
        while true {
            switch effect {
            case .load(let side, let expectsSession):
                let store = store(side)
                effect = try move.next(
                    .loaded(await store.convertingErrors(expectsSession: expectsSession) { try await store.load() }))
            case .lock(let side):
                locks[side] = try await store(side).refreshLock(until: end, limit)
                effect = try move.next(.locked)
            case .change(let side, let change, let expectsSession):
                let store = store(side)
                effect = try move.next(
                    .changed(
                        await TokenStoreCall.$refreshLock.withValue(locks[side]) {
                            try await store.convertingErrors(expectsSession: expectsSession) {
                                try await store.update { stored in
                                    try change.apply(to: &stored)
                                    return stored
                                }
                            }
                        }))
            case .end(let hasMoved): return hasMoved
            }
        }
    }
}
