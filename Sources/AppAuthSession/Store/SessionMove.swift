package import AppAuthProtocol

/// The steps of a move to another store, as a pure value: it takes the result of a store call and returns the next one.
///
/// The refresh token can be sent from only one store at any time. If there were two copies, one would miss the
/// rotations of the other, and a server that sees a used token revokes both.
///
/// Two stores cannot be changed in one step. So the session carries a mark while it is being moved. A copy with a mark
/// is never used, only moved on. Both refresh locks are held throughout. Each step is one change of one store:
///
/// | Step | Source | Target | Where the session is |
/// |---|---|---|---|
/// | | session | – | in the source |
/// | 1 | session | arriving | in the source: the copy is not used |
/// | 2 | leaving | arriving | in transit: from here on it can only go forward |
/// | 3 | leaving | session | in the target |
/// | 4 | – | session | in the target |
///
/// If a process dies during a move, it leaves the state of one of these lines, and the next call continues from there.
/// After step 1 the session may have been refreshed in the source, so it is copied again. If the source has changed
/// since step 1, step 2 fails and the move begins again.
///
/// A sign-out takes no lock and may happen at any time. It ends the session, and no copy is brought back. If the source
/// has no session, "arriving" is removed. If the target has none, "leaving" is removed. A sign-out does not remove a
/// session in transit: if the mover died after step 3, its copy may be in use. The sign-out leaves the mark "signed
/// out" instead, and the next call removes both. (If a new sign-in in the same store replaces the mark before that
/// call, the copy lasts.)
package struct SessionMove {
    package typealias Record = AuthStateRecord

    package enum Side: Sendable { case source, target }

    package enum Effect: Sendable {
        case load(Side, expectsSession: Bool = false)
        case lock(Side)
        case change(Side, Change, expectsSession: Bool = false)
        /// Releases the locks. The value is whether the session was moved.
        case end(Bool)
    }

    package enum Input: Sendable {
        case loaded(Record?)
        case locked
        /// The session in the store after the change.
        case changed(Record?)
    }

    /// The call whose result comes next.
    private enum Step {
        case begin
        case loadingSource
        case loadingTarget(source: Record?)
        /// Checks whether a store without the session was signed out or is unavailable.
        case checkingAbsence(source: Record?, target: Record?)
        /// Both stores had the same session: reads the source again.
        case comparing(target: Record?)
        case firstLock, secondLock
        /// With the locks: looks in the target for what a sign-out has left.
        case loadingLockedTarget
        case loadingLockedSource
        /// Removes what a sign-out has left, and first its copy in the other store, if that is not removed yet.
        case removingSignedOut(Record, in: Side, copyIsRemoved: Bool)
        /// Removes the copy of a session that was signed out in the source.
        case droppingCopy
        /// Steps 1 to 4 of the table.
        case arriving(Record), leaving, settling(Record), removing(Record)
        /// Ends the moved session, because a new sign-in has replaced it in the source.
        case ending
    }

    private let source: String
    private let target: String
    private var step = Step.begin

    package init(from source: String, to target: String) { (self.source, self.target) = (source, target) }

    /// Returns the first call.
    package mutating func begin() -> Effect {
        step = .loadingSource
        return .load(.source)
    }

    /// Takes the result of the last call.
    ///
    /// - Returns: The next call.
    package mutating func next(_ input: Input) throws(AuthError) -> Effect {
        switch (step, input) {
        case (.loadingSource, .loaded(let here)):
            step = .loadingTarget(source: here)
            return .load(.target)
        case (.loadingTarget(let here), .loaded(let there)): return try compare(here, there)
        case (.checkingAbsence(let here, let there), .loaded): return try lock(here, there)
        case (.comparing(let there), .loaded(let here)):
            // Another process may have moved the session between the two reads.
            guard here?.isCopy(of: there) ?? false else { return lock() }
            throw AuthError(
                .store, .store,
                "\(target) has this session already: it is \(source) under another name, or a copy of it",
                outcome: .notSent)
        case (.firstLock, .locked):
            step = .secondLock
            return .lock(source < target ? .target : .source)
        case (.secondLock, .locked):
            step = .loadingLockedTarget
            return .load(.target)
        case (.loadingLockedTarget, .loaded(let record)):
            guard let record, record.move == .signedOut(at: source) else { return goOn() }
            return removeSignedOut(record, in: .target)
        case (.removingSignedOut(let record, let side, copyIsRemoved: false), .changed):
            step = .removingSignedOut(record, in: side, copyIsRemoved: true)
            return .change(side, .removeSame(record))
        case (.loadingLockedSource, .loaded(let record)): return try move(record)
        case (.droppingCopy, .changed): return .end(false)
        case (.arriving(let record), .changed):
            step = .leaving
            return .change(.source, .leave(record, to: target))
        case (.settling(let record), .changed):
            step = .removing(record)
            return .change(.source, .removeSame(record), expectsSession: true)
        case (.removing(let record), .changed(let rest)):
            // If the locks were lost, another mover may have removed it.
            guard let rest else { return .end(true) }
            // It was signed out since step 3. Or the locks were lost, and an opposite move has begun.
            guard rest.id != record.id else { return try move(rest) }
            // A new sign-in has replaced it, which is to be moved next. The moved session is over in the target, too.
            step = .ending
            return .change(.target, .remove(id: record.id))
        case (.removingSignedOut(_, _, copyIsRemoved: true), .changed), (.leaving, .changed), (.ending, .changed):
            return goOn()
        default: preconditionFailure("the result of another call")
        }
    }

    /// Compares the two stores. If there is nothing to do, nothing is locked.
    private mutating func compare(_ here: Record?, _ there: Record?) throws(AuthError) -> Effect {
        step = .checkingAbsence(source: here, target: there)
        guard let here else {
            guard there?.move == .arriving(from: source) || there?.move == .signedOut(at: source) else {
                return .end(false)
            }
            // The session was in the source: an unmounted disk is not a sign-out.
            return .load(.source, expectsSession: true)
        }
        if there == nil, here.move == .leaving(to: target) || here.move == .signedOut(at: target) {
            return .load(.target, expectsSession: true)
        }
        return try lock(here, there)
    }

    /// Takes the locks, but first reads again if both stores seem to have the same session. While a session is being
    /// moved, both may have it, but the marks tell the copies apart. If both stores are one location, by a link or a
    /// relative path, the process would wait for a lock that it holds itself.
    private mutating func lock(_ here: Record?, _ there: Record?) throws(AuthError) -> Effect {
        guard let here, here.isCopy(of: there) else { return lock() }
        step = .comparing(target: there)
        return .load(.source)
    }

    /// Takes the locks in the same order in both directions, so that opposite moves cannot deadlock.
    private mutating func lock() -> Effect {
        step = .firstLock
        return .lock(source < target ? .source : .target)
    }

    private mutating func goOn() -> Effect {
        step = .loadingLockedSource
        return .load(.source, expectsSession: true)
    }

    private mutating func move(_ record: Record?) throws(AuthError) -> Effect {
        guard let record else {
            // Signed out during the move.
            step = .droppingCopy
            return .change(.target, .dropArriving(from: source))
        }
        switch record.move {
        case nil:
            // Step 1, then step 2.
            step = .arriving(record)
            return .change(.target, .arrive(record, from: source, at: target))
        case .leaving(to: target):
            // Step 3, then step 4. If the target no longer has a copy, the session was signed out there.
            step = .settling(record)
            return .change(.target, .settle(record, from: source), expectsSession: true)
        case .signedOut(at: target): return removeSignedOut(record, in: .source)
        case .leaving(let location), .arriving(let location), .signedOut(let location):
            throw Record.moving(at: source, location)
        }
    }

    /// Removes what a sign-out has left of a session in transit. Its copy in the other store is removed first.
    private mutating func removeSignedOut(_ record: Record, in side: Side) -> Effect {
        step = .removingSignedOut(record, in: side, copyIsRemoved: false)
        return .change(side == .source ? .target : .source, .remove(id: record.id), expectsSession: true)
    }
}

extension SessionMove {
    /// A change of one store.
    package enum Change: Sendable {
        case arrive(Record, from: String, at: String)
        case leave(Record, to: String)
        case settle(Record, from: String)
        case removeSame(Record)
        case remove(id: String)
        case dropArriving(from: String)

        package func apply(to stored: inout Record?) throws(AuthError) {
            switch self {
            case .arrive(let record, let source, let target):
                // An opposite move that was interrupted before its last step may have left this session here.
                let isBack = stored?.move == .leaving(to: source) && stored?.id == record.id
                guard stored == nil || stored?.move == .arriving(from: source) || isBack else {
                    throw AuthError(
                        .store, .store, "\(target) already has a session. Remove it before you move another one there",
                        outcome: .notSent)
                }
                stored = record
                stored?.move = .arriving(from: source)
            case .leave(let record, let target): if stored == record { stored?.move = .leaving(to: target) }
            case .settle(let record, let source):
                if stored?.id == record.id, stored?.move == .arriving(from: source) { stored?.move = nil }
            case .removeSame(let record): if stored == record { stored = nil }
            case .remove(let id): if stored?.id == id { stored = nil }
            case .dropArriving(let source): if stored?.move == .arriving(from: source) { stored = nil }
            }
        }
    }
}

extension AuthStateRecord {
    /// Whether this is the same session in the same state. The marks of a session that is being moved differ. Other
    /// processes may refresh it meanwhile, so the tokens are not compared.
    fileprivate func isCopy(of other: AuthStateRecord?) -> Bool { id == other?.id && move == other?.move }

    /// Throws if the session is being moved. What a sign-out has left of it is a session that has ended.
    package func refuseToMove(at location: String) throws(AuthError) {
        switch move {
        case .leaving(let other), .arriving(let other): throw Self.moving(at: location, other)
        case .signedOut, nil: break
        }
    }

    static func moving(at location: String, _ other: String) -> AuthError {
        var error = AuthError(
            .store, .store,
            "the move of the session between \(location) and \(other) is not finished. Move it again",
            outcome: .notSent, isTemporary: true)
        error.storeProblem = .moving
        return error
    }
}
