import AppAuthProtocol
import AppAuthSession

/// A move of the session by a process from one store to the other: a ``SessionMove``, and its next call.
final class SimulatedMove {
    let source: SimulatedStore
    let target: SimulatedStore
    /// When the move gives up, in milliseconds.
    let end: Int
    fileprivate var move: SessionMove
    fileprivate(set) var effect: SessionMove.Effect
    fileprivate var locks: [SimulatedStore.Lock] = []

    init(from source: SimulatedStore, to target: SimulatedStore, until end: Int) {
        (self.source, self.target, self.end) = (source, target, end)
        move = SessionMove(from: source.location, to: target.location)
        effect = move.begin()
    }

    fileprivate func store(_ side: SessionMove.Side) -> SimulatedStore {
        switch side {
        case .source: source
        case .target: target
        }
    }

    /// The store whose lock the move needs next.
    var awaited: SimulatedStore? { if case .lock(let side) = effect { store(side) } else { nil } }
}

extension Simulation {
    /// - Parameter isBack: Whether the process asks to move the session from the store that does not have it.
    func move(in process: SimulatedProcess, isBack: Bool = false) {
        guard process.move == nil else { return }
        let source = home
        let other = stores[1 - source.number]
        process.move = SimulatedMove(
            from: isBack ? other : source, to: isBack ? source : other, until: clock.time + 120_000)
        checker.tally.moves += 1
        note("process \(process.number) moves the session to \(process.move?.target.location ?? "")")
    }

    func canGo(_ move: SimulatedMove) -> Bool {
        move.awaited.map { $0.holder == nil || clock.time >= move.end } ?? true
    }

    /// Makes the call and takes its result.
    func go(_ move: SimulatedMove, in process: SimulatedProcess) {
        do {
            let input: SessionMove.Input
            switch move.effect {
            case .load(let side, _): input = .loaded(try move.store(side).read(at: clock.time))
            case .lock(let side):
                let store = move.store(side)
                // The move has waited too long.
                guard store.holder == nil else { return end(move, process) }
                move.locks.append(store.lock(for: process.number))
                input = .locked
            case .change(let side, let change, _): input = .changed(try self.change(move.store(side), change))
            case .end: return end(move, process)
            }
            move.effect = try move.move.next(input)
            if case .end = move.effect { end(move, process) }
        } catch { end(move, process) }
    }

    private func end(_ move: SimulatedMove, _ process: SimulatedProcess) {
        for store in [move.source, move.target] { for lock in move.locks { store.release(lock) } }
        process.move = nil
    }

    private func change(_ store: SimulatedStore, _ change: SessionMove.Change) throws(AuthError) -> Bool {
        let old = try store.read(at: clock.time)
        var changed = old
        let isDone = try apply(change, &changed)
        defer {
            if old != changed, store.record == changed {
                checker.moves(old, changed, among: stores)
                note("\(store.location): \(changed?.outline ?? "nothing")")
                checkPlace()
            }
        }
        try store.write(changed, at: clock.time)
        return isDone
    }

    /// Applies the change, altered by the flaw.
    private func apply(
        _ change: SessionMove.Change, _ stored: inout AuthStateRecord?
    ) throws(AuthError) -> Bool {
        if flaw == .movesNothing, case .arrive = change { return true }
        if flaw == .leavesWhatIsNew, case .leave(_, let target) = change {
            stored?.move = .leaving(to: target)
            return true
        }
        let isDone = try change.apply(to: &stored)
        if flaw == .movesWithoutMark, case .arrive = change { stored?.move = nil }
        return isDone
    }
}
