import AppAuthProtocol
import AppAuthSession
import Foundation

/// One run: a machine with its processes, a server, and all that happens to them, in virtual time. The processes run the
/// session as it is shipped.
final class Simulation: @unchecked Sendable {
    let setting: Setting
    let flaw: Flaw?
    let world: World
    var clock = SimulatedClock()
    let server = SimulatedServer()
    let wire = SimulatedWire()
    let store = SimulatedStore()
    let processes: [SimulatedProcess]
    let checker: InvariantChecker
    /// How many times a process was started.
    var lives = 0
    /// The name of the provider's current key for ID tokens.
    var keyName = 0
    var keysAreSlow = false
    var areKeysAway = false
    /// Whether the machine is off.
    private var isOff = false
    /// Whether the next holder that is about to send the refresh token loses the lock.
    var losesLockInUse = false
    /// A readable log of the run.
    private(set) var trace: [String] = []
    private let isTraced: Bool
    private let client: Client

    init(
        _ setting: Setting, client: Client, flaw: Flaw? = nil, watching: Invariant? = nil, isTraced: Bool = false,
        isCounting: Bool = false
    ) {
        (self.setting, self.client, self.flaw, self.isTraced) = (setting, client, flaw, isTraced)
        world = World(seed: setting.seed)
        processes = (0..<setting.processes).map { SimulatedProcess(number: $0, isDaemon: $0 < setting.daemons) }
        checker = InvariantChecker(watching: watching, isCounting: isCounting)
        server.manner = setting.manner
    }

    var isOver: Bool { checker.violation != nil }

    /// Runs the schedule, then checks that everything recovers once the faults are over.
    func run(_ schedule: Schedule) {
        world.enter {
            perform(.signIn(0, always: true))
            for (number, step) in schedule where !isOver {
                world.random = Seeded(setting.seed ^ UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
                perform(step)
                checkNewestToken()
            }
            if !isOver { recover() }
            for process in processes { kill(process) }
        }
        checker.tally.refreshes = server.refreshes
    }

    func note(_ text: @autoclosure () -> String) {
        guard isTraced, !isOver else { return }
        trace.append(String(format: "%9.3f s  ", Double(world.now) / 1000) + text())
    }

    // MARK: - Steps

    private func perform(_ step: Step) {
        if step.isFault { checker.tally.faults += 1 }
        switch step {
        case .wait(let time): pass(time)
        case .call(let number, let kind): running(number).map { _ = call(kind, in: $0) }
        case .go(let number, let task, let count):
            for _ in 0..<count where !isOver {
                guard let life = processes[number % processes.count].life else { return }
                world.step(of: life.host.process, choice: task)
                endIdleProcesses()
            }
        case .settle: settle()
        case .kill(let number): kill(processes[number % processes.count])
        case .signOut(let number, let revoking): running(number).map { signOut($0, revoking) }
        case .signIn(let number, let always):
            if always || store.record.map({ $0.end != nil }) ?? true { running(number).map(signIn) }
        case .clock(let error):
            note("the wall clock is set wrong by \(error / 1000) s")
            clock.setWall(error: error, at: world.now)
        case .suspend(let time):
            note("the machine sleeps for \(time / 1000) s")
            wire.breakAll(server, at: world.now)
            if setting.losesLocks, time >= SimulatedStore.lockTimeout { loseLocks(isNoticed: true) }
            for process in processes { process.life?.interruptions += 1 }
            world.sleep(until: world.now + time)
        case .restart(let time, let wallError):
            for process in processes { kill(process) }
            isOff = true
            pass(time)
            isOff = false
            clock.restart(at: world.now, wallError: wallError)
            note("the machine starts anew, its wall clock wrong by \(wallError / 1000) s")
        case .trouble(let trouble, let time):
            note("the server begins to respond: \(trouble)")
            server.trouble = (trouble, world.now + time)
        case .wire(let fault): wire.fault = fault
        case .idTokens(let idTokens, let time):
            note("ID tokens are \(idTokens)")
            server.idTokens = (idTokens, world.now + time)
        case .fullDisk(let time):
            note("the disk is full for \(time / 1000) s")
            store.isFullUntil = world.now + time
        case .muteStore(let time):
            note("the store's word is lost for \(time / 1000) s")
            store.isMuteUntil = world.now + time
        case .shutStore(let time):
            note("the store is shut for \(time / 1000) s")
            store.isShutUntil = world.now + time
        case .revoke:
            note("an administrator revokes the grant")
            if let token = store.record?.refreshToken { server.revoke(token.reveal()) }
        case .duplicate: wire.isDuplicating = true
        case .cancel(let number, let choice): running(number).map { cancel(in: $0, choice) }
        case .loseLocks(let isNoticed): loseLocks(isNoticed: isNoticed)
        case .loseLockInUse: losesLockInUse = true
        case .stop(let number, let time):
            let process = processes[number % processes.count]
            guard let life = process.life, !life.isStopped else { return }
            note("process \(process.number) is stopped for \(time / 1000) s")
            stop(life, time)
        }
    }

    private func stop(_ life: Life, _ time: Int) {
        life.isStopped = true
        life.interruptions += 1
        world.setStopped(life.host.process, true)
        if time >= SimulatedStore.lockTimeout {
            world.schedule(after: SimulatedStore.lockTimeout) { [self] in
                // When such a holder goes on, its clock says that the database has released the lock.
                if life.isStopped, let lock = life.grip?.lock, store.holder === lock {
                    store.loseLock(isNoticed: true, self)
                }
            }
        }
        world.schedule(after: time) { [self] in goOn(life) }
    }

    private func goOn(_ life: Life) {
        guard life.isStopped else { return }
        life.isStopped = false
        world.setStopped(life.host.process, false)
        store.grantNext(self)
    }

    /// Returns the process, unless it is stopped.
    private func running(_ number: Int) -> SimulatedProcess? {
        let process = processes[number % processes.count]
        return process.life?.isStopped ?? false ? nil : process
    }

    func loseLocks(isNoticed: Bool) {
        guard let holder = store.holder else { return }
        note("process \(holder.process) loses the lock\(isNoticed ? "" : ", and does not notice it")")
        store.loseLock(isNoticed: isNoticed, self)
    }

    /// Lets time pass, and the processes go on.
    func pass(_ time: Int) {
        let end = world.now + time
        while !isOver, world.step(until: end) { endIdleProcesses() }
    }

    /// Lets everything go on until no caller waits.
    private func settle() {
        for _ in 0..<100_000 where !isOver {
            guard processes.contains(where: { $0.life.map { !$0.isIdle } ?? false }), world.step() else { return }
            endIdleProcesses()
        }
    }

    private func endIdleProcesses() {
        for process in processes where !process.isDaemon && process.life?.isIdle ?? false { kill(process) }
    }

    private func signIn(_ process: SimulatedProcess) {
        guard world.now >= store.troubledUntil else { return }
        let (grant, access) = server.signIn(at: world.now)
        let token = AccessToken(
            value: Secret(access), received: clock.timestamp(at: world.now), lifetime: .seconds(setting.manner.lifetime)
        )
        guard
            // Each sign-in has a new user, so no user signs in twice.
            var record = try? AuthStateRecord(
                client: client, accessToken: token, refreshToken: Secret(grant.current)
            ).identified(as: "user \(grant.number)", at: clock.date(at: world.now))
        else { return }
        if let length = setting.manner.sessionLength {
            var lifetimes = AnnouncedLifetimes()
            lifetimes.refreshToken = .milliseconds(length)
            record.announced.merge(lifetimes, sent: token.received, received: token.received, isRotated: false)
            watch(grant, since: world.now)
        }
        let old = store.record
        guard (try? store.write(record, at: world.now, hasRoom: false)) != nil else { return }
        note("process \(process.number) signs in: \(grant.current)")
        kill(process)
        start(process, record)
        checker.receives(token.value, with: grant.current, at: clock.timestamp(at: world.now))
        checker.stores(old, record, by: nil, server)
        if !process.isDaemon { kill(process) }
    }

    /// Ends a process. Its memory is lost; the store stays as it is.
    func kill(_ process: SimulatedProcess) {
        guard let life = process.life else { return }
        note("process \(process.number) ends")
        if life.fetches > 0 { checkStored(life) }
        process.life = nil
        life.callers = []
        life.isStopped = false
        world.kill(life.host.process)
        store.processDied(life, self)
        life.end()
        wire.breakAll(of: process.number, server, at: world.now)
        for (token, fate) in server.fates where fate == .received(process: process.number) {
            server.fates[token] = .lost
        }
    }

    /// A program that tells the user of an announced end, such as `sign-in watch`, and looks at these times.
    private func watch(_ grant: SimulatedServer.Grant, since start: Int) {
        guard let end = grant.endsAt else { return }
        let lead = min(3 * 86_400_000, (end - start) / 4)
        for hundredths in [150, 110, 90, 50, 5] {
            world.schedule(after: end - lead * hundredths / 100 - start) { [self] in
                // The machine may have slept meanwhile.
                let left = end - world.now
                guard !isOff, left > 0, clock.isRight(since: start), let record = store.record, record.end == nil,
                    let token = record.refreshToken?.reveal(), server.grant(of: token) === grant
                else { return }
                let isNear = record.announced.timeToWarn(at: now) == .zero
                guard abs(left - lead) > 60_000 else { return }
                checker.tally.warnings += isNear ? 1 : 0
                checker.require(
                    isNear == (left < lead), .noSurprise,
                    "\(left / 1000) s before the announced end, the user is \(isNear ? "warned" : "not warned")")
            }
        }
    }

    // MARK: - Checks

    /// Checks that a new refresh token is stored before keys are fetched, which may take minutes, unless the store failed
    /// or has refused the write of a holder whose lock was lost.
    func checkStored(_ life: Life) {
        guard let response = life.latestResponse, store.troubledUntil < response.time,
            !(life.grip?.lock.isLost ?? false)
        else { return }
        let isStored = server.fates[response.refreshToken].map { $0 == .stored } ?? true
        checker.require(isStored, .sessionKept, "\(response.refreshToken) waited for keys, and was not stored")
    }

    /// Checks that the newest refresh token is in the store, or in a process that will store it, or is lost.
    private func checkNewestToken() {
        guard let record = store.record, record.end == nil else { return }
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
            checker.require(
                processes[number].life.map { !$0.isIdle || $0.hasUnsaved } ?? false, .sessionKept,
                "\(grant.current) came and was dropped")
        }
    }

    /// Ends the faults and lets two days pass. A caller then gets a token, unless the session is over.
    private func recover() {
        note("all is well again")
        world.random = Seeded(setting.seed)
        (server.trouble, server.idTokens, wire.fault, wire.isDuplicating) = (nil, (.fine, 0), nil, false)
        world.isCalm = true
        losesLockInUse = false
        store.beWell()
        for life in processes.compactMap(\.life) { goOn(life) }
        settle()
        pass(2 * 86_400_000)
        let fresh = processes[processes.count - 1]
        kill(fresh)
        let first = call(.usual, in: fresh)
        settle()
        if case .failure? = first?.result, store.holder.map({ $0.process != fresh.number }) ?? false {
            checker.tally.stalls += 1
        }
        // Each running process calls once more, and saves any unsaved change.
        for process in processes where process.life != nil && process !== fresh { call(.usual, in: process) }
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
