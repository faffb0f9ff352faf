import AppAuthProtocol
import AppAuthSession

// Mirrors `AuthState` (AuthState.swift and its parts Refresh, Lock and Saving), await by await: between two steps of a task here,
// any other process or task may act, as it may while the actor is suspended there. Change both together.
extension Simulation {
    typealias Task = SimulatedProcess.Task
    typealias Memory = SimulatedProcess.Memory

    /// `AuthState.freshAccessToken`, up to its first suspension.
    @discardableResult
    func call(_ kind: CallKind, in process: SimulatedProcess) -> Task? {
        if let memory = process.memory, memory.hasToldEnd, memory.tasks.isEmpty, memory.unsaved == nil,
            memory.store !== home
        {
            // An `AuthState` does not move with its session.
            process.memory = nil
        }
        restore(process)
        guard let memory = process.memory else { return nil }
        let task = Task(.call, kind, need(kind, memory))
        checker.tally.calls += 1
        note("process \(process.number) wants a token (\(kind))")
        if memory.unsaved == nil, !memory.isGone, let token = task.need.seen,
            task.need.accepts(token, at: task.need.began) || flaw == .handsOutFromMemory
        {
            checker.requireLife(of: token, at: task.need.began)
            checker.require(!memory.hasToldEnd, .noReturn, "a token of memory is handed out after the end was told")
            end(task, .success(token), in: process, memory)
            return task
        }
        memory.tasks.append(task)
        task.point = .join
        return task
    }

    /// `AuthState.init(restoring:)`
    private func restore(_ process: SimulatedProcess) {
        let home = home
        guard process.memory == nil, let record = read(home), record.move == nil else { return }
        // An app that has moved its session, or tried to, calls that each time before it uses the other store.
        let left = stores[1 - home.number].record?.move
        guard left != .leaving(to: home.location), left != .signedOut(at: home.location) else {
            return move(in: process, isBack: true)
        }
        process.memory = Memory(record: record, store: home)
    }

    private func read(_ store: SimulatedStore) -> AuthStateRecord? { (try? store.read(at: clock.time)) ?? nil }

    /// Whoever waits for a token leaves; the refresh goes on.
    func cancel(in process: SimulatedProcess, _ choice: Int) {
        guard let memory = process.memory else { return }
        let callers = memory.tasks.filter { $0.role == .call }
        guard !callers.isEmpty else { return }
        note("a caller in process \(process.number) is cancelled")
        end(callers[choice % callers.count], .success(nil), in: process, memory)
    }

    private func need(_ kind: CallKind, _ memory: Memory) -> SessionRules.TokenRequirement {
        var need = SessionRules.TokenRequirement(began: now)
        need.parameters = kind.parameters
        need.minimumValidity = kind == .longer ? .seconds(setting.manner.lifetime / 2 + 1) : nil
        need.isForced = kind == .forced
        need.seen = memory.record.token(for: need.parameters)
        return need
    }

    /// `AuthState.forget`, after `AuthState.revokeTokens`.
    func signOut(_ process: SimulatedProcess, _ revoking: Bool) {
        restore(process)
        guard let memory = process.memory else { return }
        note("process \(process.number) signs out")
        if revoking {
            if memory.unsaved == nil, let stored = read(memory.store) { adopt(stored, memory) }
            if let token = memory.record.refreshToken { server.revoke(token.reveal()) }
            memory.hasRevoked = true
        }
        let known = SessionRules.Knowledge(record: memory.record, wasStored: true)
        checker.signedOut.insert(memory.record.id)
        memory.record = Self.signedOut(memory.record)
        if memory.storing == nil || memory.lastTried !== memory.unsaved { memory.store.release(memory.unsaved?.lock) }
        memory.unsaved = SimulatedProcess.Unsaved(.signedOut, known, now, nil)
        let task = Task(.signOut, .usual, need(.usual, memory))
        task.point = .saving
        memory.tasks.append(task)
    }

    func canGo(_ task: Task, _ memory: Memory) -> Bool {
        switch task.point {
        case .saving: task.awaited.map { $0.result != nil } ?? true
        case .joined(let flight): flight.result != nil
        case .turn: memory.turn == nil || clock.time >= task.wait.nextLook
        case .lock: isLockFree(memory) || clock.time >= task.wait.nextLook
        case .wire(_, let request): clock.time >= request.endsAt
        case .begin, .loaded, .looked, .join, .commit, .committed, .send, .verify: true
        }
    }

    /// From one `await` to the next.
    func go(_ task: Task, in process: SimulatedProcess, _ memory: Memory) {
        switch task.point {
        case .begin: begin(task, process, memory)
        case .loaded(_, let looks) where looks != memory.looks: task.point = .begin
        case .loaded where memory.unsaved != nil: task.point = .saving
        case .loaded(let stored?, _) where stored.isOnItsWay:
            end(task, .failure(Self.isOnItsWay), in: process, memory)
        case .loaded(var stored, _):
            let decision = decide(.asked(task.need), &stored, knowledge(memory), at: now, task.need)
            if let stored { adopt(stored, memory) }
            if case .waitForLock = decision.action {
                (task.point, task.wait) = (.turn, (clock.time, clock.time + Self.pause))
            } else {
                finish(task, decision, process, memory)
            }
        case .turn where memory.turn == nil:
            memory.turn = task
            task.point = .saving
        case .saving: storeUnsaved(task, process, memory)
        case .join:
            let running = memory.flights[task.need.kind] ?? Task(.flight, task.kind, task.need)
            if memory.flights[task.need.kind] == nil {
                running.point = .saving
                memory.tasks.append(running)
            }
            memory.flights[task.need.kind] = running
            task.point = .joined(running)
        case .joined(let flight):
            if let result = flight.result { end(task, result, in: process, memory) }
        case .lock where isLockFree(memory):
            task.lock = memory.store.lock(for: process.number)
            step(.wanted(task.need), task, memory)
        case .turn, .lock:
            guard clock.time < task.wait.since + Self.limit else {
                return putUp(with: Self.lockIsHeld, task, process, memory)
            }
            task.wait.nextLook = clock.time + Self.pause
            if let stored = try? memory.store.read(at: clock.time) { task.point = .looked(stored, looks: memory.looks) }
        case .looked(_, let looks) where looks != memory.looks || memory.unsaved != nil:
            waitOn(task, memory)
        case .looked(let stored?, _) where stored.isOnItsWay: waitOn(task, memory)
        case .looked(var stored, _):
            let decision = decide(.waited(task.need), &stored, knowledge(memory), at: now, task.need)
            if let stored { adopt(stored, memory) }
            if case .waitForLock = decision.action { return waitOn(task, memory) }
            finish(task, decision, process, memory)
        case .commit(let update): task.point = .committed(update, commit(update, task, memory))
        case .committed(let update, let result): committed(update, result, task, process, memory)
        case .send(let attempt): send(attempt, task, process, memory)
        case .wire(let attempt, let request): receive(attempt, request, task, process, memory)
        case .verify(let attempt, let response, let request):
            record(.answered(attempt, response, verdict(request), jitter: request.jitter), task, process, memory)
        }
    }

    // MARK: - AuthState.refresh

    /// `LockPatience`, in milliseconds.
    static let (pause, limit) = (2_000, 120_000)

    private static let lockIsHeld = AuthError(
        .store, .store, "the lock is held", outcome: .notSent, isTemporary: true)

    private static let isOnItsWay = {
        var error = AuthError(.store, .store, "the session is on its way", outcome: .notSent, isTemporary: true)
        error.storeProblem = .moving
        return error
    }()

    private func waitOn(_ task: Task, _ memory: Memory) { task.point = memory.turn === task ? .lock : .turn }

    private func isLockFree(_ memory: Memory) -> Bool {
        memory.store.holder == nil || flaw == .presentsWithoutLock || flaw == .forgetsToReread
    }

    private func begin(_ task: Task, _ process: SimulatedProcess, _ memory: Memory) {
        guard task.role == .storing else {
            do { task.point = .loaded(try memory.store.read(at: clock.time), looks: memory.looks) } catch {
                putUp(with: error, task, process, memory)
            }
            return
        }
        guard let pending = memory.unsaved else { return finishStoring(task, .success(nil), memory) }
        (memory.lastTried, task.mine) = (pending, pending)
        task.point = .commit(
            .init(event: pending.event, known: pending.known, then: pending.then, looks: memory.looks))
    }

    private func committed(
        _ update: SimulatedProcess.Update, _ result: Result<(SessionRules.Decision, AuthStateRecord?), AuthError>,
        _ task: Task, _ process: SimulatedProcess, _ memory: Memory
    ) {
        if case .success((_, let stored)) = result {
            let latest = update.looks == memory.looks ? stored : read(memory.store)
            if let latest { adopt(latest, memory) }
        }
        if task.role == .storing { return stored(result, task, memory) }
        if case .received(let attempt, let response) = update.event, let request = task.answered {
            switch result {
            case .success((let decision, _)):
                if !Self.isVoid(decision, memory), case .done = decision.action {
                    return task.point = .verify(attempt, response, request)
                }
            // The write after the verification has all of it.
            case .failure: return task.point = .verify(attempt, response, request)
            }
        }
        guard case .success((var decision, _)) = result else {
            guard case .failure(let error) = result else { return }
            guard case .wanted = update.event else { return keep(update, error, task, process, memory) }
            return putUp(with: error, task, process, memory)
        }
        if Self.isVoid(decision, memory) {
            if let response = update.event.response { decision.orphan = response }
            if let orphan = decision.orphan { revoke(orphan) }
            return end(task, .failure(Self.signInRequired), in: process, memory)
        }
        switch decision.action {
        case .present(let attempt): task.point = .send(attempt)
        case .lookAgain(let next): step(.wanted(next), task, memory)
        default: finish(task, decision, process, memory)
        }
    }

    /// The end of `AuthState.refresh` where the store has refused before anything was sent.
    private func putUp(with error: AuthError, _ task: Task, _ process: SimulatedProcess, _ memory: Memory) {
        guard error.storeProblem != .moving, memory.unsaved == nil, !memory.isGone,
            let token = memory.record.token(for: task.need.parameters), task.need.putsUpWith(token, at: now)
        else { return end(task, .failure(error), in: process, memory) }
        end(task, .success(token), in: process, memory)
    }

    /// `AuthState.unlessSignedOut`; here every session was stored.
    private static func isVoid(_ decision: SessionRules.Decision, _ memory: Memory) -> Bool {
        if case .ended? = decision.change { return false }
        return memory.record.end != nil
    }

    private func finish(
        _ task: Task, _ decision: SessionRules.Decision, _ process: SimulatedProcess, _ memory: Memory
    ) {
        noteEnd(decision, memory)
        if let orphan = decision.orphan { revoke(orphan) }
        switch decision.action {
        case .handOut(let token): end(task, .success(token), in: process, memory)
        case .fail(let error): end(task, .failure(error), in: process, memory)
        case .waitForLock, .present, .lookAgain, .done: end(task, .failure(Self.signInRequired), in: process, memory)
        }
    }

    private func noteEnd(_ decision: SessionRules.Decision, _ memory: Memory) {
        guard case .ended? = decision.change, memory.record.end == nil else { return }
        (memory.isGone, memory.looks) = (true, memory.looks + 1)
    }

    private func record(
        _ event: SessionRules.Event, _ task: Task, _ process: SimulatedProcess, _ memory: Memory
    ) {
        if flaw == .publishesBeforeStored, case .answered(_, let response, .verified, _) = event {
            checker.handsOut(response.token, for: task.need)
        }
        step(event, task, memory)
    }

    /// `AuthState.record(_:under:)` where the store has refused.
    private func keep(
        _ update: SimulatedProcess.Update, _ error: AuthError, _ task: Task, _ process: SimulatedProcess,
        _ memory: Memory
    ) {
        var kept: AuthStateRecord? = memory.record
        let decision = SessionRules.apply(update.event, to: &kept, known: knowledge(memory), at: now)
        note("process \(process.number) cannot store what came, and keeps it")
        if memory.record.end == nil, let kept {
            memory.record = kept
            if kept.end != nil { checker.endedInMemory.insert(kept.id) }
            if case .failed(_, let failure, _) = update.event, failure.rotatedRefreshToken == nil, kept.end == nil {
                if case .lookAgain(let next) = decision.action { return step(.wanted(next), task, memory) }
                return finish(task, decision, process, memory)
            }
            memory.unsaved = SimulatedProcess.Unsaved(update.event, update.known, now, task.lock)
            if case .fail = decision.action { return finish(task, decision, process, memory) }
            return end(task, .failure(error), in: process, memory)
        }
        finish(task, decision, process, memory)
    }

    // MARK: - AuthState.storeUnsaved

    private func storeUnsaved(_ task: Task, _ process: SimulatedProcess, _ memory: Memory) {
        if let storing = task.awaited {
            task.awaited = nil
            if case .failure(let error) = storing.result, memory.lastTried === task.mine {
                return end(task, .failure(error), in: process, memory)
            }
        }
        if let unsaved = memory.unsaved {
            task.mine = unsaved
            let storing = memory.storing ?? Task(.storing, .usual, task.need)
            if memory.storing == nil { memory.tasks.append(storing) }
            (memory.storing, task.awaited) = (storing, storing)
            return
        }
        switch task.role {
        case .flight: task.point = memory.turn === task ? .lock : .begin
        case .call, .signOut, .storing: end(task, .success(nil), in: process, memory)
        }
    }

    /// The end of `AuthState.storeUnsavedOnce`.
    private func stored(
        _ result: Result<(SessionRules.Decision, AuthStateRecord?), AuthError>, _ task: Task, _ memory: Memory
    ) {
        switch result {
        case .failure(let error):
            if memory.unsaved !== task.mine { memory.store.release(task.mine?.lock) }
            finishStoring(task, .failure(error), memory)
        case .success((var decision, _)):
            if Self.isVoid(decision, memory), case .answered(_, let response, _, _)? = task.mine?.event {
                decision.orphan = response
            }
            noteEnd(decision, memory)
            if memory.unsaved === task.mine { memory.unsaved = nil }
            memory.store.release(task.mine?.lock)
            if let orphan = decision.orphan { revoke(orphan) }
            if memory.hasRevoked, let token = decision.removed?.refreshToken { server.revoke(token.reveal()) }
            finishStoring(task, .success(nil), memory)
        }
    }

    private func finishStoring(_ task: Task, _ result: Result<AccessToken?, AuthError>, _ memory: Memory) {
        task.result = result
        memory.storing = nil
        memory.tasks.removeAll { $0 === task }
    }

    // MARK: - AuthState.step

    private func knowledge(_ memory: Memory) -> SessionRules.Knowledge {
        SessionRules.Knowledge(record: memory.record, wasStored: memory.wasStored)
    }

    private func step(_ event: SessionRules.Event, _ task: Task, _ memory: Memory) {
        task.point = .commit(.init(event: event, known: knowledge(memory), then: nil, looks: memory.looks))
    }

    private func commit(
        _ update: SimulatedProcess.Update, _ task: Task, _ memory: Memory
    ) -> Result<(SessionRules.Decision, AuthStateRecord?), AuthError> {
        let (old, now): (AuthStateRecord?, Timestamp)
        do { (old, now) = (try memory.store.read(at: clock.time), self.now) } catch { return .failure(error) }
        if case .signedOut = update.event {} else if old?.isOnItsWay ?? false { return .failure(Self.isOnItsWay) }
        var changed = old
        let need = task.role == .flight ? task.need : nil
        let decision = decide(update.event, &changed, update.known, at: now, then: update.then, need)
        var refusal: AuthError?
        do { try memory.store.write(changed, at: clock.time) } catch { refusal = error }
        if old != changed, memory.store.record == changed {
            checker.stores(old, changed, by: update.event, server)
            if changed?.id == update.known.record.id {
                checker.counts(update.event, decision.action, update.known.record.id, at: update.then ?? now)
            }
            if let changed { note("stored: \(changed.outline)") } else { note("removed from the store") }
        }
        return refusal.map(Result.failure) ?? .success((decision, changed))
    }

    private func adopt(_ stored: AuthStateRecord, _ memory: Memory) {
        guard stored.id == memory.record.id, stored.move == nil, memory.record.end == nil else { return }
        memory.record = stored
        (memory.wasStored, memory.isGone, memory.looks) = (true, false, memory.looks + 1)
        // It was moved away, and back.
        memory.hasToldEnd = memory.hasToldEnd && stored.end != nil
    }

    /// A task has ended, with the `defer`s of `AuthState.refresh`.
    private func end(
        _ task: Task, _ result: Result<AccessToken?, AuthError>, in process: SimulatedProcess, _ memory: Memory
    ) {
        task.result = result
        memory.tasks.removeAll { $0 === task }
        if task.role == .flight {
            if memory.flights[task.need.kind] === task { memory.flights[task.need.kind] = nil }
            if memory.turn === task { memory.turn = nil }
            let isKept = memory.unsaved.map { $0.lock === task.lock } ?? false
            if !isKept, flaw != .keepsTheLock { memory.store.release(task.lock) }
        }
        if task.role == .call {
            switch result {
            case .success(let token?):
                note("process \(process.number) gets \(token.value.reveal())")
                checker.handsOut(token, for: task.need)
            case .success: break
            case .failure(let error):
                note("process \(process.number) is told \(error.code.rawValue)\(error.isHeldBack ? ", held back" : "")")
                if error.code == .signInRequired { memory.hasToldEnd = true }
            }
        }
        if !process.isDaemon, memory.tasks.isEmpty, process.move == nil { kill(process) }
    }
}
