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
    /// When the next call gives up.
    fileprivate var callEnd = 0
    /// The locks, by the numbers of their stores.
    fileprivate var locks: [Int: SimulatedStore.Lock] = [:]

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

    /// The store whose lock the move needs for its next call, and when it stops waiting for it. If a lock was lost, a
    /// database makes a change only under a new one.
    var awaited: (store: SimulatedStore, end: Int)? {
        switch effect {
        case .lock(let side): return (store(side), end)
        case .change(let side, _, _):
            let store = store(side)
            return locks[store.number].map(store.isLatest) ?? true ? nil : (store, callEnd)
        case .load, .end: return nil
        }
    }
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
        move.awaited.map { $0.store.holder == nil || clock.time >= $0.end } ?? true
    }

    /// Makes the call and takes its result.
    func go(_ move: SimulatedMove, in process: SimulatedProcess) {
        if let store = move.awaited?.store {
            // The move has waited too long.
            guard store.holder == nil else { return end(move, process) }
            move.locks[store.number] = store.lock(for: process.number)
        }
        do {
            let input: SessionMove.Input
            switch move.effect {
            case .load(let side, _): input = .loaded(try move.store(side).read(at: clock.time))
            case .lock: input = .locked
            case .change(let side, let change, _): input = .changed(try self.change(move.store(side), change))
            case .end: return end(move, process)
            }
            move.effect = try move.move.next(input)
            move.callEnd = clock.time + SimulatedStore.callTimeout
            if case .end = move.effect { end(move, process) }
        } catch { end(move, process) }
    }

    private func end(_ move: SimulatedMove, _ process: SimulatedProcess) {
        for store in [move.source, move.target] { store.release(move.locks[store.number]) }
        process.move = nil
    }

    private func change(
        _ store: SimulatedStore, _ change: SessionMove.Change
    ) throws(AuthError) -> AuthStateRecord? {
        let old = try store.read(at: clock.time)
        var changed = old
        try apply(change, &changed)
        defer {
            if old != changed, store.record == changed {
                checker.moves(old, changed, among: stores)
                note("\(store.location): \(changed?.outline ?? "nothing")")
                checkPlace()
            }
        }
        try store.write(changed, at: clock.time)
        return changed
    }

    /// Applies the change, altered by the flaw.
    private func apply(_ change: SessionMove.Change, _ stored: inout AuthStateRecord?) throws(AuthError) {
        switch (flaw, change) {
        case (.movesNothing, .arrive): break
        case (.leavesWhatIsNew, .leave(_, let target)): stored?.move = .leaving(to: target)
        case (.movesWithoutMark, .arrive):
            try change.apply(to: &stored)
            stored?.move = nil
        default: try change.apply(to: &stored)
        }
    }
}
