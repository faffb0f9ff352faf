internal import AppAuthProtocol

/// Moving a session, so that there is never more than one place from which its refresh token can be presented: of two
/// copies one would miss the rotations of the other, and a server that sees a used token revokes both.
///
/// Two stores cannot be changed in one step. So the session carries a mark while it is on its way, and a copy with a mark
/// is never used, only moved on. Both refresh locks are held throughout. Whatever a step writes, it writes in one change
/// of one store:
///
/// | Step | Source | Target | Where the session is |
/// |---|---|---|---|
/// | | session | – | in the source |
/// | 1 | session | arriving | in the source: the copy is not used |
/// | 2 | leaving | arriving | on the way: from here on it goes forward alone |
/// | 3 | leaving | session | in the target |
/// | 4 | – | session | in the target |
///
/// Whoever dies in between leaves one of these lines behind, and the next call goes on from it: after step 1 the session
/// may have been refreshed in the source, so it is copied again. A sign-out takes no lock and may come anywhere; the
/// session is over with it, and nothing is brought back: without a session in the source, "arriving" is removed, and
/// where the target has none, "leaving" is. One that was on its way is not removed by a sign-out, since its copy may be in
/// use if the mover died after step 3: what is left says "signed out", and the next call removes both. (A new sign-in here
/// before that call takes its place, and then the copy lasts.) Step 2 fails if the source has changed since step 1, and
/// begins again.
extension TokenStore {
    /// Moves the session into another store, and waits for refreshes that are under way, two minutes at most. An app that wants its session
    /// there calls this each time before it uses the other store: where there is nothing to move it only looks, and where
    /// an earlier call was cut off it goes on.
    ///
    /// An ``AuthState`` on this store does not move with it: make a new one. Until the session has arrived, the other
    /// store refuses it with ``StoreProblem/moving``.
    ///
    /// - Returns: Whether a session was moved.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``, also if the other store has another session, or if it has
    ///   this one, be it a copy or the same place under another name; `CancellationError`. Nothing is lost then: a further
    ///   call goes on.
    @discardableResult
    public func moveSession(to target: some TokenStore) async throws -> Bool {
        try await moveSession(to: target, waitingAtMost: LockPatience().limit)
    }

    package func moveSession(to target: some TokenStore, waitingAtMost limit: Duration) async throws -> Bool {
        guard location != target.location else { return false }
        // Nothing is locked where there is nothing to do.
        let (here, there) = try await (attempt { try await load() }, target.attempt { try await target.load() })
        if here == nil {
            guard [.arriving(from: location), .signedOut(at: location)].contains(there?.move) else { return false }
            // It was here: an unmounted disk is no sign-out.
            _ = try await attempt(expectsSession: true) { try await load() }
        } else if there == nil, [.leaving(to: target.location), .signedOut(at: target.location)].contains(here?.move) {
            _ = try await target.attempt(expectsSession: true) { try await target.load() }
        }
        if let here, here.isTwin(of: there) { try await refuseTwin(of: here, in: target) }
        // In one order, whichever way the session goes: two that move it against each other do not wait for ever.
        let stores: [any TokenStore] = location < target.location ? [self, target] : [target, self]
        var locks: [RefreshLock] = []
        defer { for lock in locks { lock.release() } }
        let end = SuspendingClock.now + limit
        for store in stores { locks.append(try await store.refreshLock(until: end, limit)) }
        if let over = try await target.attempt({ try await target.load() }) { try await target.bury(over, with: self) }
        while true {
            switch try await nextStep(to: target) {
            case .again: continue
            case .ended(let hasMoved): return hasMoved
            }
        }
    }

    /// On its way the session may be in both, but the marks tell them apart. Where both are one place, by a link or a
    /// relative path, its lock would be waited for by the one who has it.
    private func refuseTwin(of record: AuthStateRecord, in target: some TokenStore) async throws {
        // Another process may have moved it between the two looks.
        guard record.isTwin(of: try await attempt { try await load() }) else { return }
        throw AuthError(
            .store, .store,
            "\(target.location) has this session already: it is \(location) under another name, or a copy of it",
            outcome: .notSent)
    }

    private func nextStep(to target: some TokenStore) async throws -> Step {
        let source = location
        guard let record = try await attempt(expectsSession: true, { try await load() }) else {
            // Signed out on the way.
            try await target.change { if $0?.move == .arriving(from: source) { $0 = nil } }
            return .ended(false)
        }
        switch record.move {
        case nil:
            try await copy(record, to: target)
            // Step 2.
            let leaving = AuthStateRecord.Move.leaving(to: target.location)
            try await change { if $0 == record { $0?.move = leaving } }
            return .again
        case .leaving(to: target.location):
            // Step 3. Where the target has no copy any more, it was signed out there.
            try await target.change(expectsSession: true) {
                if $0?.id == record.id, $0?.move == .arriving(from: source) { $0?.move = nil }
            }
            // Step 4.
            let isOver = try await attempt {
                try await update { stored in
                    guard stored == record else { return true }
                    stored = nil
                    return false
                }
            }
            guard isOver else { return .ended(true) }
            // Signed out since step 3, or replaced by a new sign-in, which is to be moved then: so it is over there, too.
            try await target.change { if $0?.id == record.id { $0 = nil } }
            return .again
        case .signedOut(at: target.location):
            try await bury(record, with: target)
            return .again
        case .leaving(let location), .arriving(let location), .signedOut(let location):
            throw AuthStateRecord.moving(at: source, location)
        }
    }

    /// Removes what a sign-out has left of a session that was leaving, and before that what has arrived of it.
    private func bury(_ record: AuthStateRecord, with other: some TokenStore) async throws {
        guard record.move == .signedOut(at: other.location) else { return }
        try await other.change(expectsSession: true) { if $0?.id == record.id { $0 = nil } }
        try await change { if $0 == record { $0 = nil } }
    }

    /// Step 1.
    private func copy(_ record: AuthStateRecord, to target: some TokenStore) async throws {
        var arriving = record
        arriving.move = .arriving(from: location)
        let isBack = AuthStateRecord.Move.leaving(to: location)
        try await target.change { [arriving] stored in
            // A move that was cut off before its last step may have left something of this session there.
            let isOurs = stored?.move == arriving.move || stored?.move == isBack && stored?.id == arriving.id
            guard stored == nil || isOurs else {
                throw AuthError(
                    .store, .store, "\(target.location) has a session already, and none is moved there",
                    outcome: .notSent)
            }
            stored = arriving
        }
    }

    private func change(
        expectsSession: Bool = false, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Void
    ) async throws {
        try await attempt(expectsSession: expectsSession) { try await update(change) }
    }
}

private enum Step {
    case again
    case ended(Bool)
}

extension AuthStateRecord {
    /// Whether it is the same session in the same state: while one is moved, the marks differ. Others may refresh it meanwhile.
    fileprivate func isTwin(of other: AuthStateRecord?) -> Bool { id == other?.id && move == other?.move }

    /// Refuses to be used while it is on its way. What a sign-out has left of it is a session that has ended.
    package func refuseToMove(at location: String) throws {
        switch move {
        case .leaving(let other), .arriving(let other): throw Self.moving(at: location, other)
        case .signedOut, nil: break
        }
    }

    static func moving(at location: String, _ other: String) -> AuthError {
        var error = AuthError(
            .store, .store,
            "the session is on its way between \(location) and \(other): move it again to bring it there",
            outcome: .notSent, isTemporary: true)
        error.storeProblem = .moving
        return error
    }
}
