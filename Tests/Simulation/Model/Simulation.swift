import AppAuthProtocol
import AppAuthSession
import Foundation

/// One run: a machine with its processes, a server, and all that happens to them, in virtual time and without tasks.
final class Simulation {
    let setting: Setting
    let flaw: Flaw?
    var clock = SimulatedClock()
    let server = SimulatedServer()
    let wire = SimulatedWire()
    let stores = [SimulatedStore(number: 0), SimulatedStore(number: 1)]
    let processes: [SimulatedProcess]
    let checker: InvariantChecker
    /// The jitter of the latest response: 0 to 1.
    var jitter = 0.0
    var keysAreSlow = false
    /// A readable log of the run.
    private(set) var trace: [String] = []
    private let isTraced: Bool
    private let client: Client

    init(
        _ setting: Setting, client: Client, flaw: Flaw? = nil, watching: Invariant? = nil, isTraced: Bool = false,
        isCounting: Bool = false
    ) {
        (self.setting, self.client, self.flaw, self.isTraced) = (setting, client, flaw, isTraced)
        processes = (0..<setting.processes).map { SimulatedProcess(number: $0, isDaemon: $0 < setting.daemons) }
        checker = InvariantChecker(watching: watching, isCounting: isCounting)
        server.manner = setting.manner
    }

    /// The store in which the session is used or from which it is being moved. If there is none, a store without a copy
    /// of an earlier session.
    var home: SimulatedStore {
        func first(_ isHome: (AuthStateRecord?) -> Bool) -> SimulatedStore? { stores.first { isHome($0.record) } }
        return first { $0.map { $0.move == nil } ?? false }
            ?? first { if case .leaving? = $0?.move { true } else { false } } ?? first { $0 == nil } ?? stores[0]
    }

    var isOver: Bool { checker.violation != nil }

    /// Runs the schedule, then checks that everything recovers once the faults are over.
    func run(_ steps: [Step]) {
        defer { for process in processes { process.forget() } }
        perform(.signIn(0, always: true))
        for step in steps where !isOver {
            perform(step)
            checkNewestToken()
        }
        if !isOver { recover() }
        checker.tally.refreshes = server.refreshes
    }

    func note(_ text: @autoclosure () -> String) {
        guard isTraced, !isOver else { return }
        trace.append(String(format: "%9.3f s  ", Double(clock.time) / 1000) + text())
    }

    // MARK: - Steps

    private func perform(_ step: Step) {
        if step.isFault { checker.tally.faults += 1 }
        switch step {
        case .wait(let time): pass(time)
        case .call(let number, let kind): running(number).map { _ = call(kind, in: $0) }
        case .go(let number, let task, let count):
            let process = processes[number % processes.count]
            for _ in 0..<count where !isOver { go(process, task) }
        case .settle: settle()
        case .kill(let number): kill(processes[number % processes.count])
        case .signOut(let number, let revoking): running(number).map { signOut($0, revoking) }
        case .signIn(let number, let always):
            if always || home.record.map({ $0.end != nil }) ?? true { running(number).map(signIn) }
        case .clock(let error):
            note("the wall clock is set wrong by \(error / 1000) s")
            clock.setWall(error: error)
        case .suspend(let time):
            note("the machine sleeps for \(time / 1000) s")
            wire.breakAll(server, at: clock.time)
            if setting.losesLocks, time >= SimulatedStore.lockTimeout { loseLocks(isNoticed: true) }
            pass(time)
        case .restart(let time, let wallError):
            for process in processes { kill(process) }
            pass(time)
            clock.restart(wallError: wallError)
            note("the machine starts anew, its wall clock wrong by \(wallError / 1000) s")
        case .trouble(let trouble, let time):
            note("the server begins to respond: \(trouble)")
            server.trouble = (trouble, clock.time + time)
        case .wire(let fault): wire.fault = fault
        case .idTokens(let idTokens, let time):
            note("ID tokens are \(idTokens)")
            server.idTokens = (idTokens, clock.time + time)
        case .fullDisk(let time):
            note("the disk is full for \(time / 1000) s")
            for store in hit(by: time) { store.isFullUntil = clock.time + time }
        case .muteStore(let time):
            note("the store's word is lost for \(time / 1000) s")
            for store in hit(by: time) { store.isMuteUntil = clock.time + time }
        case .shutStore(let time):
            note("the store is shut for \(time / 1000) s")
            for store in hit(by: time) { store.isShutUntil = clock.time + time }
        case .revoke:
            note("an administrator revokes the grant")
            if let token = home.record?.refreshToken { server.revoke(token.reveal()) }
        case .duplicate: wire.isDuplicating = true
        case .cancel(let number, let choice): running(number).map { cancel(in: $0, choice) }
        case .move(let number, let isBack): running(number).map { move(in: $0, isBack: isBack) }
        case .loseLocks(let isNoticed): loseLocks(isNoticed: isNoticed)
        case .stop(let number, let time):
            let process = processes[number % processes.count]
            guard process.session != nil || process.move != nil else { return }
            note("process \(process.number) is stopped for \(time / 1000) s")
            process.stop = (clock.time, clock.time + time)
        }
    }

    /// Returns the process, unless it is stopped.
    private func running(_ number: Int) -> SimulatedProcess? {
        let process = processes[number % processes.count]
        return process.stop == nil ? process : nil
    }

    private func loseLocks(isNoticed: Bool) {
        for store in stores where store.holder != nil {
            note("process \(store.holder?.process ?? 0) loses the lock\(isNoticed ? "" : ", and does not notice it")")
            store.loseLock(isNoticed: isNoticed)
        }
    }

    /// Returns the stores that a fault affects: sometimes both.
    private func hit(by time: Int) -> [SimulatedStore] { time % 3 == 0 ? stores : [home] }

    func pass(_ time: Int) {
        clock.advance(to: clock.time + time)
        for process in processes {
            guard let stop = process.stop else { continue }
            // When such a holder goes on, its clock says that the database has released the lock.
            if min(clock.time, stop.until) - stop.since >= SimulatedStore.lockTimeout {
                for store in stores where store.holder?.process == process.number { store.loseLock(isNoticed: true) }
            }
            if clock.time >= stop.until { process.stop = nil }
        }
        wire.deliver(to: server, until: clock.time)
    }

    private func go(_ process: SimulatedProcess, _ choice: Int) {
        guard process.session != nil || process.move != nil else { return }
        let steps = steps(of: process)
        if !steps.isEmpty { steps[choice % steps.count]() }
        // The duration of a step.
        pass(1)
    }

    /// Returns the steps that a process can take now.
    private func steps(of process: SimulatedProcess) -> [() -> Void] {
        guard process.stop == nil else { return [] }
        var steps: [() -> Void] = []
        if let session = process.session {
            steps = session.events.indices.filter { canGo(session.events[$0], session) }.map { index in
                { self.go(index, session, process) }
            }
        }
        if let move = process.move, canGo(move) { steps.append { self.go(move, in: process) } }
        return steps
    }

    /// Runs all processes in turn. When all of them wait, time passes.
    private func settle() {
        for _ in 0..<2000 where !isOver {
            let ready = processes.filter { !steps(of: $0).isEmpty }
            if ready.isEmpty {
                let responses = wire.requests.filter { !$0.isOver && !$0.isAbandoned }.map(\.endsAt)
                let awake = processes.filter { $0.stop == nil }
                let events = awake.compactMap(\.session).compactMap(nextEvent)
                let moves = awake.compactMap { $0.move?.awaited?.end }
                let stops = processes.compactMap(\.stop).map(\.until)
                // The responses that have come wait for a process that is stopped.
                guard let next = (responses.filter { $0 > clock.time } + events + moves + stops).min() else { return }
                pass(max(1, next - clock.time))
            }
            for process in ready { go(process, process.move == nil ? 0 : clock.time) }
        }
    }

    private func signIn(_ process: SimulatedProcess) {
        let store = home
        guard clock.time >= store.troubledUntil else { return }
        let (grant, access) = server.signIn()
        let token = AccessToken(
            value: Secret(access), received: clock.timestamp, lifetime: .seconds(setting.manner.lifetime))
        guard
            // Each sign-in has a new user, so no user signs in twice.
            let record = try? AuthStateRecord(
                client: client, accessToken: token, refreshToken: Secret(grant.current)
            ).identified(as: "user \(grant.number)")
        else { return }
        let old = store.record
        guard (try? store.write(record, at: clock.time)) != nil else { return }
        note("process \(process.number) signs in: \(grant.current)")
        kill(process)
        process.session = session(record, in: store)
        checker.receives(token.value, with: grant.current, at: clock.timestamp)
        checker.stores(old, record, by: nil, server)
        if !process.isDaemon { kill(process) }
    }

    /// Ends a process. Its memory is lost; the stores stay as they are.
    func kill(_ process: SimulatedProcess) {
        guard process.session != nil || process.move != nil else { return }
        note("process \(process.number) ends")
        if let session = process.session, session.hasTokenToVerify { checkStored(session) }
        process.forget()
        for store in stores { store.processDied(process.number) }
        wire.breakAll(of: process.number, server, at: clock.time)
        for (token, fate) in server.fates where fate == .received(process: process.number) {
            server.fates[token] = .lost
        }
    }

    // MARK: - Checks

    /// Checks that a new refresh token is stored before keys are fetched, which may take minutes, unless the store failed
    /// or has refused the write of a holder whose lock was lost.
    private func checkStored(_ session: SimulatedSession) {
        guard let response = session.latestResponse, session.store.troubledUntil < response.time,
            !session.locks.values.contains(where: \.isLost)
        else { return }
        let isStored = server.fates[response.refreshToken].map { $0 == .stored } ?? true
        checker.require(isStored, .sessionKept, "\(response.refreshToken) waited for keys, and was not stored")
    }

    /// Checks that the session is used from only one store: a copy in the other is marked.
    func checkPlace() {
        let used = stores.compactMap(\.record).filter { $0.move == nil }
        checker.require(Set(used.map(\.id)).count == used.count, .onePlace, "both copies of it can be used")
    }

    /// Checks that the newest refresh token is in the store, or in a process that will store it, or is lost.
    private func checkNewestToken() {
        guard let record = home.record, record.end == nil else { return }
        // Signed out in the target store: the next move removes the rest from the source.
        guard record.move == nil || !checker.isGone(record.id) else { return }
        // A sign-out drops the tokens before the store removes the session.
        guard !checker.signedOut.contains(record.id) else { return }
        let token = record.refreshToken?.reveal() ?? ""
        guard let grant = server.grant(of: token), grant.end == nil, grant.current != token else {
            checker.require(!token.isEmpty, .sessionKept, "the store has no refresh token any more")
            return
        }
        switch server.fates[grant.current] {
        case .lost, .underway, nil: break
        case .stored: checker.require(false, .sessionKept, "\(grant.current) was stored, and \(token) is there again")
        case .received(let number):
            let session = processes[number].session
            checker.require(
                session.map { !$0.isIdle || $0.machine.hasUnsavedTokens } ?? false, .sessionKept,
                "\(grant.current) came and was dropped")
        }
    }

    /// Ends the faults and lets two days pass. A caller then gets a token, unless the session is over.
    private func recover() {
        note("all is well again")
        (server.trouble, server.idTokens, wire.fault, wire.isDuplicating) = (nil, (.fine, 0), nil, false)
        for store in stores { store.beWell() }
        for process in processes { process.stop = nil }
        settle()
        pass(2 * 86_400_000)
        let fresh = processes[processes.count - 1]
        kill(fresh)
        // A further move completes one that was interrupted.
        for isBack in [false, true] where stores.contains(where: { $0.record?.move != nil }) {
            // A process with unsaved tokens saves them first and releases the lock.
            for process in processes where process.session?.machine.hasUnsavedTokens ?? false {
                call(.usual, in: process)
            }
            settle()
            move(in: fresh, isBack: isBack)
            settle()
        }
        checker.require(
            stores.allSatisfy { $0.record?.move == nil }, .onePlace, "the move has begun, and no process can finish it")
        checker.ends(stores)
        let first = call(.usual, in: fresh)
        settle()
        if case .failure? = first?.result, home.holder.map({ $0.process != fresh.number }) ?? false {
            checker.tally.stalls += 1
        }
        // Each running process calls once more, and saves any unsaved change.
        for process in processes where process.session != nil && process !== fresh { call(.usual, in: process) }
        settle()
        checkNewestToken()
        kill(fresh)
        let last = call(.usual, in: fresh)
        settle()
        guard !isOver, let last else { return }
        switch last.result {
        case .success: break
        case .failure(let error as AuthError) where error.code == .signInRequired: break
        case .failure(let error): checker.require(false, .healthyAgain, "a caller got: \(error)")
        case nil: checker.require(false, .healthyAgain, "a caller waits for ever")
        }
    }
}
