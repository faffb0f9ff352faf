package import AppAuthProtocol

/// The steps by which a session moves to another store, as a value: the answer of a store goes in, and the next call comes out.
///
/// There is never more than one place from which its refresh token can be sent: of two copies one would miss the rotations of
/// the other, and a server that sees a used token revokes both.
///
/// Two stores cannot be changed in one step. So the session carries a mark while it is on its way, and a copy with a mark
/// is never used, only moved on. Both refresh locks are held throughout. Each step is one change of one store:
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
package struct SessionMove {
    package typealias Record = AuthStateRecord

    package enum Place: Sendable { case source, target }

    package enum Effect: Sendable {
        case load(Place, expectsSession: Bool = false)
        case lock(Place)
        case change(Place, Change, expectsSession: Bool = false)
        /// Release the locks. Whether the session was moved.
        case end(Bool)
    }

    package enum Answer: Sendable {
        case loaded(Record?)
        case locked
        /// What ``Change/apply(to:)`` returned.
        case changed(Bool)
    }

    private enum Step {
        case begin
        case here
        case there(Record?)
        /// Whether an empty place is a sign-out, or away.
        case absent(here: Record?, there: Record?)
        /// Both had the same session.
        case twin(Record?)
        case firstLock, secondLock
        case grave
        /// What a sign-out has left, and where; without its copy in the other place, if that is gone.
        case bury(Record, in: Place, copyIsGone: Bool)
        case again
        case dropped
        case copied(Record), left, arrived(Record), removed(Record), forgotten
    }

    private let source: String
    private let target: String
    private var step = Step.begin

    package init(from source: String, to target: String) { (self.source, self.target) = (source, target) }

    /// The first call.
    package mutating func begin() -> Effect {
        step = .here
        return .load(.source)
    }

    /// Takes the answer to the last call.
    ///
    /// - Returns: The next one.
    package mutating func next(_ answer: Answer) throws(AuthError) -> Effect {
        switch (step, answer) {
        case (.here, .loaded(let here)):
            step = .there(here)
            return .load(.target)
        case (.there(let here), .loaded(let there)): return try compare(here, there)
        case (.absent(let here, let there), .loaded): return try lock(here, there)
        case (.twin(let there), .loaded(let here)):
            // Another process may have moved it between the two looks.
            guard here?.isTwin(of: there) ?? false else { return lock() }
            throw AuthError(
                .store, .store,
                "\(target) has this session already: it is \(source) under another name, or a copy of it",
                outcome: .notSent)
        case (.firstLock, .locked):
            step = .secondLock
            return .lock(source < target ? .target : .source)
        case (.secondLock, .locked):
            step = .grave
            return .load(.target)
        case (.grave, .loaded(let record)):
            guard let record, record.move == .signedOut(at: source) else { return goOn() }
            return bury(record, in: .target)
        case (.bury(let record, let place, copyIsGone: false), .changed):
            step = .bury(record, in: place, copyIsGone: true)
            return .change(place, .removeSame(record))
        case (.again, .loaded(let record)): return try move(record)
        case (.dropped, .changed): return .end(false)
        case (.copied(let record), .changed):
            step = .left
            return .change(.source, .leave(record, to: target))
        case (.arrived(let record), .changed):
            step = .removed(record)
            return .change(.source, .removeSame(record), expectsSession: true)
        case (.removed(let record), .changed(let isRemoved)):
            if isRemoved { return .end(true) }
            // Signed out since step 3, or replaced by a new sign-in, which is to be moved then: so it is over there, too.
            step = .forgotten
            return .change(.target, .remove(id: record.id))
        case (.bury(_, _, copyIsGone: true), .changed), (.left, .changed), (.forgotten, .changed): return goOn()
        default: preconditionFailure("the answer to another call")
        }
    }

    /// Nothing is locked where there is nothing to do.
    private mutating func compare(_ here: Record?, _ there: Record?) throws(AuthError) -> Effect {
        step = .absent(here: here, there: there)
        guard let here else {
            guard there?.move == .arriving(from: source) || there?.move == .signedOut(at: source) else {
                return .end(false)
            }
            // It was here: an unmounted disk is no sign-out.
            return .load(.source, expectsSession: true)
        }
        if there == nil, here.move == .leaving(to: target) || here.move == .signedOut(at: target) {
            return .load(.target, expectsSession: true)
        }
        return try lock(here, there)
    }

    /// On its way the session may be in both, but the marks tell them apart. Where both are one place, by a link or a relative
    /// path, its lock would be waited for by the one who has it.
    private mutating func lock(_ here: Record?, _ there: Record?) throws(AuthError) -> Effect {
        guard let here, here.isTwin(of: there) else { return lock() }
        step = .twin(there)
        return .load(.source)
    }

    /// In one order, whichever way the session goes: two that move it against each other do not wait for ever.
    private mutating func lock() -> Effect {
        step = .firstLock
        return .lock(source < target ? .source : .target)
    }

    private mutating func goOn() -> Effect {
        step = .again
        return .load(.source, expectsSession: true)
    }

    private mutating func move(_ record: Record?) throws(AuthError) -> Effect {
        guard let record else {
            // Signed out on the way.
            step = .dropped
            return .change(.target, .dropArriving(from: source))
        }
        switch record.move {
        case nil:
            // Step 1, and then step 2.
            step = .copied(record)
            return .change(.target, .arrive(record, from: source, at: target))
        case .leaving(to: target):
            // Step 3. Where the target has no copy any more, it was signed out there. Then step 4.
            step = .arrived(record)
            return .change(.target, .settle(record, from: source), expectsSession: true)
        case .signedOut(at: target): return bury(record, in: .source)
        case .leaving(let location), .arriving(let location), .signedOut(let location):
            throw Record.moving(at: source, location)
        }
    }

    /// Removes what a sign-out has left of a session that was leaving, and before that what has arrived of it.
    private mutating func bury(_ record: Record, in place: Place) -> Effect {
        step = .bury(record, in: place, copyIsGone: false)
        return .change(place == .source ? .target : .source, .remove(id: record.id), expectsSession: true)
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

        /// - Returns: Whether it had anything to do.
        package func apply(to stored: inout Record?) throws(AuthError) -> Bool {
            let before = stored
            switch self {
            case .arrive(let record, let source, let target):
                // A move that was cut off before its last step may have left something of this session there.
                let isBack = stored?.move == .leaving(to: source) && stored?.id == record.id
                guard stored == nil || stored?.move == .arriving(from: source) || isBack else {
                    throw AuthError(
                        .store, .store, "\(target) has a session already, and none is moved there", outcome: .notSent)
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
            return stored != before
        }
    }
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
