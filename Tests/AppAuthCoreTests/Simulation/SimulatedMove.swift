import AppAuthProtocol
import AppAuthSession

// Mirrors `TokenStore.moveSession` (SessionMove.swift), await by await. Change both together.

/// A process brings the session from one store to the other.
final class SimulatedMove {
    typealias Record = AuthStateRecord

    enum Point {
        case look
        case lookThere(Record?)
        /// Both had the same: whether the source still has it.
        case lookAgain(Record?)
        /// How many locks it has.
        case lock(Int)
        case next
        /// Whether the target has what a sign-out has left.
        case lookForGrave
        /// Of what is in a store, the copy in the other; and then it.
        case buryCopy(Record, SimulatedStore), bury(Record, SimulatedStore)
        case copy(Record), leave(Record), arrive(Record), remove(Record), forget(Record)
    }

    let source: SimulatedStore
    let target: SimulatedStore
    /// When it gives up, in milliseconds.
    let end: Int
    fileprivate(set) var point = Point.look
    fileprivate var locks: [SimulatedStore.Lock] = []

    init(from source: SimulatedStore, to target: SimulatedStore, at now: Int) {
        (self.source, self.target, end) = (source, target, now + Simulation.limit)
    }

    /// The store whose lock it needs next.
    var awaited: SimulatedStore? {
        guard case .lock(let count) = point else { return nil }
        return [source, target].sorted { $0.number < $1.number }[count]
    }
}

extension AuthStateRecord {
    /// `AuthStateRecord.refuseToMove`
    var isOnItsWay: Bool { (try? refuseToMove(at: "")) == nil }

    /// The same in SessionMove.swift.
    fileprivate func isTwin(of other: AuthStateRecord?) -> Bool { id == other?.id && move == other?.move }
}

extension Simulation {
    /// - Parameter isBack: Whether it asks for a session that is not where it looks for it.
    func move(in process: SimulatedProcess, isBack: Bool = false) {
        guard process.move == nil else { return }
        let source = home
        let other = stores[1 - source.number]
        process.move = SimulatedMove(
            from: isBack ? other : source, to: isBack ? source : other, at: clock.time)
        checker.tally.moves += 1
        note("process \(process.number) moves the session to \(process.move?.target.location ?? "")")
    }

    func canGo(_ move: SimulatedMove) -> Bool {
        move.awaited.map { $0.holder == nil || clock.time >= move.end } ?? true
    }

    /// From one `await` to the next.
    func go(_ move: SimulatedMove, in process: SimulatedProcess) {
        let isGoing: Bool
        do throws(AuthError) { isGoing = try goOn(move, process) } catch { isGoing = false }
        guard !isGoing else { return }
        for store in [move.source, move.target] { for lock in move.locks { store.release(lock) } }
        process.move = nil
    }

    /// - Returns: Whether there is more to do.
    private func goOn(_ move: SimulatedMove, _ process: SimulatedProcess) throws(AuthError) -> Bool {
        let (source, target) = (move.source, move.target)
        let arriving = AuthStateRecord.Move.arriving(from: source.location)
        switch move.point {
        case .look: move.point = .lookThere(try source.read(at: clock.time))
        case .lookThere(let here):
            let there = try target.read(at: clock.time)
            if here == nil, there?.move != arriving, there?.move != .signedOut(at: source.location) { return false }
            move.point = here?.isTwin(of: there) ?? false ? .lookAgain(there) : .lock(0)
        case .lookAgain(let there):
            guard let here = try source.read(at: clock.time), here.isTwin(of: there) else {
                move.point = .lock(0)
                break
            }
            return false
        case .lock(let count):
            guard let store = move.awaited, store.holder == nil else { return false }
            move.locks.append(store.lock(for: process.number))
            move.point = count == 0 ? .lock(1) : .lookForGrave
        case .lookForGrave:
            let over = try target.read(at: clock.time)
            if let over, over.move == .signedOut(at: source.location) {
                move.point = .buryCopy(over, target)
            } else {
                move.point = .next
            }
        case .buryCopy(let record, let grave):
            try change(grave === source ? target : source) { if $0?.id == record.id { $0 = nil } }
            move.point = .bury(record, grave)
        case .bury(let record, let grave):
            try change(grave) { if $0 == record { $0 = nil } }
            move.point = .next
        case .next: return try next(move)
        case .copy(let record):
            var copy = record
            copy.move = flaw == .movesWithoutMark ? nil : arriving
            move.point = .leave(record)
            guard flaw != .movesNothing else { break }
            try change(target) { stored throws(AuthError) in
                let isBack = AuthStateRecord.Move.leaving(to: source.location)
                let isOurs = stored?.move == arriving || stored?.move == isBack && stored?.id == copy.id
                guard stored == nil || isOurs else {
                    throw AuthError(.store, .store, "there is a session already", outcome: .notSent)
                }
                stored = copy
            }
        case .leave(let record):
            try change(source) { stored in
                if stored == record || flaw == .leavesWhatIsNew { stored?.move = .leaving(to: target.location) }
            }
            move.point = .next
        case .arrive(let record):
            try change(target) { stored in
                if stored?.id == record.id, stored?.move == arriving { stored?.move = nil }
            }
            move.point = .remove(record)
        case .remove(let record):
            var isOver = true
            try change(source) { stored in
                guard stored == record else { return isOver = false }
                stored = nil
            }
            guard !isOver else { return false }
            move.point = .forget(record)
        case .forget(let record):
            try change(target) { stored in if stored?.id == record.id { stored = nil } }
            move.point = .next
        }
        return true
    }

    private func next(_ move: SimulatedMove) throws(AuthError) -> Bool {
        let (source, target) = (move.source, move.target)
        guard let record = try source.read(at: clock.time) else {
            try change(target) { stored in if stored?.move == .arriving(from: source.location) { stored = nil } }
            return false
        }
        switch record.move {
        case nil: move.point = .copy(record)
        case .leaving(to: target.location): move.point = .arrive(record)
        case .signedOut(at: target.location): move.point = .buryCopy(record, source)
        case .leaving, .arriving, .signedOut: return false
        }
        return true
    }

    private func change(
        _ store: SimulatedStore, _ change: (inout AuthStateRecord?) throws(AuthError) -> Void
    ) throws(AuthError) {
        let old = try store.read(at: clock.time)
        var changed = old
        try change(&changed)
        defer {
            if old != changed, store.record == changed {
                checker.moves(old, changed, among: stores)
                note("\(store.location): \(changed?.outline ?? "nothing")")
                checkPlace()
            }
        }
        try store.write(changed, at: clock.time)
    }
}
