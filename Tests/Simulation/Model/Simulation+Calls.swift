import AppAuthProtocol
import AppAuthSession

/// What an app does with its session.
extension Simulation {
    /// Requests a token. If the process is not running, it is started.
    @discardableResult
    func call(_ kind: CallKind, in process: SimulatedProcess) -> Caller? {
        guard let life = life(of: process), let state = life.state else { return nil }
        checker.tally.calls += 1
        note("process \(process.number) wants a token (\(kind))")
        let caller = Caller(kind, SessionRules.TokenRequirement(began: now), after: life.interruptions)
        life.callers.append(caller)
        caller.task = world.start(life.host.process) { [self] in
            let result: Result<AccessToken, any Error>
            do {
                caller.need = need(kind, await state.record)
                if kind == .forced, let seen = caller.need.seen { state.reject(seen) }
                result = .success(
                    try await state.freshAccessToken(
                        minimumValidity: caller.need.minimumValidity, parameters: kind.parameters))
            } catch { result = .failure(error) }
            if !world.isDead(life.host.process) { leave(caller, result, life) }
        }
        return caller
    }

    /// Returns the running process, or starts one with the stored session.
    private func life(of process: SimulatedProcess) -> Life? {
        if process.life == nil, let record = (try? store.read(at: world.now)) ?? nil { start(process, record) }
        return process.life
    }

    func start(_ process: SimulatedProcess, _ record: AuthStateRecord) {
        lives += 1
        process.life = Life(Host(world: world, process: lives), process.number, record, at: now) { life in
            AuthState(
                stored: record, store: StoreOfProcess(simulation: self, life: life), environment: environment(of: life)
            ) { [self] in decide($0, &$1, $2, at: $3, occurredAt: $4, life) }
        }
    }

    private func environment(of life: Life) -> Environment {
        var environment = Environment(transport: TransportOfProcess(simulation: self, life: life)) { [self] in
            // Callers then take a token in memory for valid.
            flaw == .handsOutFromMemory ? life.start : now
        }
        // After such a pause, a change that the store has rejected is written again.
        environment.sleep = { try await life.host.pause($0.milliseconds, isIdle: true) }
        environment.sleepAwake = { try await life.host.pause($0.milliseconds) }
        environment.jitter = { [world] in Double(world.random.below(1000)) / 999 }
        return environment
    }

    private func need(_ kind: CallKind, _ record: AuthStateRecord) -> SessionRules.TokenRequirement {
        var need = SessionRules.TokenRequirement(began: now)
        need.parameters = kind.parameters
        need.minimumValidity = kind == .longer ? .seconds(setting.manner.lifetime / 2 + 1) : nil
        need.isForced = kind == .forced
        need.seen = record.token(for: need.parameters)
        return need
    }

    private func leave(_ caller: Caller, _ result: Result<AccessToken, any Error>, _ life: Life) {
        caller.result = result
        life.callers.removeAll { $0 === caller }
        switch result {
        case .success(let token):
            note("process \(life.process) gets \(token.value.reveal())")
            // A token that does not come at once was valid when the store got it. If it has expired since, there is a second
            // attempt. A step of a process may take three seconds.
            if now == caller.need.began
                || setting.manner.lifetime >= 60 && life.interruptions < caller.interruptions + 2
            {
                checker.requireLife(of: token, at: now)
            }
            checker.require(!life.hasReportedEnd, .noReturn, "a token is handed out after the end")
            checker.handsOut(token, for: caller.need, server)
        case .failure(let error):
            let error = error as? AuthError
            note(
                "process \(life.process) gets \(error?.code.rawValue ?? "nothing")\(error?.isHeldBack ?? false ? ", held back" : "")"
            )
            if error?.code == .signInRequired { life.hasReportedEnd = true }
            let isOfIDToken = error.map { [.keys, .idToken].contains($0.stage) } ?? false
            checker.require(
                !isOfIDToken || server.hasSentWrongIDToken, .withholdsNothing,
                "a caller got no token: \(error?.message ?? "")")
        }
    }

    /// Cancels a caller that waits for a token. The refresh continues.
    func cancel(in process: SimulatedProcess, _ choice: Int) {
        guard let life = process.life, !life.callers.isEmpty else { return }
        note("a caller in process \(process.number) is cancelled")
        let caller = life.callers[choice % life.callers.count]
        world.run(as: life.host.process) { caller.task?.cancel() }
    }

    func signOut(_ process: SimulatedProcess, _ revoking: Bool) {
        guard let life = life(of: process), let state = life.state else { return }
        note("process \(process.number) signs out")
        life.tasks += 1
        world.start(life.host.process) { [self] in
            checker.signedOut.insert(await state.record.id)
            _ = try? await state.signOut(revokingTokens: revoking)
            life.tasks -= 1
        }
    }
}

extension Duration {
    /// Rounded up.
    fileprivate var milliseconds: Int { Int((self / .milliseconds(1)).rounded(.up)) }
}
