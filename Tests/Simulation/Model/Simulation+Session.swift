import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE

/// The execution of a ``SessionMachine``'s effects, as in `AuthState` but in virtual time. Each effect becomes an
/// event, and between two events anything else may happen.
extension Simulation {
    typealias Session = SimulatedSession

    // MARK: - Calls of an app

    /// Simulates `AuthState.freshAccessToken`.
    @discardableResult
    func call(_ kind: CallKind, in process: SimulatedProcess) -> Session.Caller? {
        if let session = process.session, session.hasReportedEnd, session.isIdle, !session.machine.hasUnsavedTokens,
            session.store !== home
        {
            // An `AuthState` does not move with its session.
            process.session = nil
        }
        restore(process)
        guard let session = process.session else { return nil }
        let caller = Session.Caller(kind, need(kind, session.machine.record))
        checker.tally.calls += 1
        note("process \(process.number) wants a token (\(kind))")
        session.callers.append(caller)
        if session.machine.isOpen, let token = caller.need.seen,
            caller.need.accepts(token, at: caller.need.began) || flaw == .handsOutFromMemory
        {
            checker.requireLife(of: token, at: caller.need.began)
            checker.require(!session.hasReportedEnd, .noReturn, "a token of memory is handed out after the end")
            leave(caller, .success(token), session, process)
        } else {
            session.events.append(.join(caller))
        }
        return caller
    }

    /// Simulates `AuthState.init(restoring:)`.
    private func restore(_ process: SimulatedProcess) {
        let home = home
        guard process.session == nil, let record = (try? home.read(at: clock.time)) ?? nil, record.move == nil else {
            return
        }
        // An app that has moved its session, or tried to, repeats the move each time before it uses the other store.
        let left = stores[1 - home.number].record?.move
        guard left != .leaving(to: home.location), left != .signedOut(at: home.location) else {
            return move(in: process, isBack: true)
        }
        process.session = session(record, in: home)
    }

    func session(_ record: AuthStateRecord, in store: SimulatedStore) -> Session {
        let machine = SessionMachine(
            record: record, wasStored: true, location: store.location, patience: LockPatience(), now: now
        ) { [unowned self] event, stored, known, now, time in
            decide(event, &stored, known, at: now, occurredAt: time)
        }
        return Session(machine, store: store)
    }

    /// Cancels a caller that waits for a token. The refresh continues.
    func cancel(in process: SimulatedProcess, _ choice: Int) {
        guard let session = process.session, !session.callers.isEmpty else { return }
        note("a caller in process \(process.number) is cancelled")
        leave(session.callers[choice % session.callers.count], .success(nil), session, process)
    }

    private func need(_ kind: CallKind, _ record: AuthStateRecord) -> SessionRules.TokenRequirement {
        var need = SessionRules.TokenRequirement(began: now)
        need.parameters = kind.parameters
        need.minimumValidity = kind == .longer ? .seconds(setting.manner.lifetime / 2 + 1) : nil
        need.isForced = kind == .forced
        need.seen = record.token(for: need.parameters)
        return need
    }

    /// Simulates `AuthState.revokeTokens` and `AuthState.forget`.
    func signOut(_ process: SimulatedProcess, _ revoking: Bool) {
        restore(process)
        guard let session = process.session else { return }
        note("process \(process.number) signs out")
        let forget = { [self] in
            checker.signedOut.insert(session.machine.record.id)
            begin(.signOut(reason: "signed out"), session, process) { _ in }
        }
        guard revoking else { return forget() }
        begin(.read(isUnattended: false), session, process) { [self] result in
            if case .success(.read(replacement: nil)) = result {
                let record = session.machine.record
                let tokens = [record.refreshToken, record.token(for: .session)?.value].compactMap(\.self)
                if let token = record.refreshToken { server.revoke(token.reveal()) }
                feed(.revoked(tokens), session, process)
            }
            forget()
        }
    }

    private func begin(
        _ purpose: SessionMachine.Purpose, _ session: Session, _ process: SimulatedProcess,
        then completion: @escaping (Result<SessionMachine.Outcome, any Error>) -> Void
    ) {
        let id = session.newID()
        session.completions[id] = completion
        feed(.begin(id, purpose), session, process)
    }

    /// Ends a call: the caller gets its token or an error, or was cancelled.
    private func leave(
        _ caller: Session.Caller, _ result: Result<AccessToken?, any Error>, _ session: Session,
        _ process: SimulatedProcess
    ) {
        caller.result = result
        session.callers.removeAll { $0 === caller }
        switch result {
        case .success(let token?):
            note("process \(process.number) gets \(token.value.reveal())")
            checker.handsOut(token, for: caller.need, server)
        case .success: break
        case .failure(let error):
            let error = error as? AuthError
            note(
                "process \(process.number) gets \(error?.code.rawValue ?? "nothing")\(error?.isHeldBack ?? false ? ", held back" : "")"
            )
            if error?.code == .signInRequired { session.hasReportedEnd = true }
        }
    }

    // MARK: - Events

    func canGo(_ event: Session.Event, _ session: Session) -> Bool {
        switch event {
        case .join, .storeReturned, .lockTimedOut, .unsent, .revoke: true
        case .call(let call, let time):
            lostLock(of: call, session) == nil || isLockFree(session.store) || clock.time >= time
        case .finish: !session.events.contains { if case .revoke = $0 { true } else { false } }
        case .lock: isLockFree(session.store)
        case .wait(_, let time), .retry(_, let time), .verify(_, let time): clock.time >= time
        case .wire(_, let request): clock.time >= request.endsAt
        }
    }

    func isLockFree(_ store: SimulatedStore) -> Bool {
        store.holder == nil || flaw == .presentsWithoutLock || flaw == .forgetsToReread
    }

    /// Returns the time of the next event that a caller waits for.
    func nextEvent(_ session: Session) -> Int? {
        session.events.compactMap { event in
            switch event {
            case .call(_, let time), .wait(_, let time), .verify(_, let time): time
            case .wire(_, let request): request.endsAt
            default: nil
            }
        }.min()
    }

    /// Lets an event happen.
    func go(_ index: Int, _ session: Session, _ process: SimulatedProcess) {
        switch session.events.remove(at: index) {
        case .join(let caller): join(caller, session, process)
        case .call(let call, _): session.events.append(.storeReturned(execute(call, session)))
        case .storeReturned(let result): hear(result, session, process)
        case .lock(let id):
            session.locks[id] = session.store.lock(for: process.number)
            feed(.locked(id, nil), session, process)
        case .lockTimedOut(let id):
            let error = AuthError(.store, .store, "the lock is held", outcome: .notSent, isTemporary: true)
            feed(.locked(id, error), session, process)
        case .wait(let id, _): feed(.waited(id), session, process)
        case .retry(let number, _): feed(.retry(number), session, process)
        case .unsent(let id):
            let error = AuthError(.store, .store, "the lock was lost", outcome: .notSent, isTemporary: true)
            fail(id, error, session, process)
        case .wire(let id, let request): receive(id, request, session, process)
        case .verify(let id, _):
            feed(.verified(id, outcome, jitter: jitter), session, process)
        case .revoke(let tokens): revoke(tokens)
        case .finish(let id, let result): session.completions.removeValue(forKey: id)?(result)
        }
        if !process.isDaemon, session.isIdle, process.move == nil { kill(process) }
    }

    private func join(_ caller: Session.Caller, _ session: Session, _ process: SimulatedProcess) {
        // The caller was cancelled.
        guard caller.result == nil else { return }
        if let flight = session.flights[caller.need.kind] { return caller.flight = flight }
        let kind = caller.need.kind
        let id = session.newID()
        (session.flights[kind], caller.flight) = (id, id)
        session.beginners[id] = caller
        session.completions[id] = { [self] result in
            session.flights[kind] = nil
            for caller in session.callers where caller.flight == id {
                leave(caller, result.map { if case .token(let token) = $0 { token } else { nil } }, session, process)
            }
        }
        feed(.begin(id, .token(caller.need)), session, process)
    }

    private func hear(
        _ result: Result<SessionMachine.StoreResult, any Error>, _ session: Session, _ process: SimulatedProcess
    ) {
        let record: AuthStateRecord? =
            switch result {
            case .success(.loaded(let record)), .success(.updated(_, let record)): record
            case .failure: nil
            }
        // The session was moved away and back.
        if let record, record.id == session.machine.record.id, record.move == nil, record.end == nil {
            session.hasReportedEnd = false
        }
        feed(.storeReturned(result), session, process)
    }

    func feed(_ input: SessionMachine.Input, _ session: Session, _ process: SimulatedProcess) {
        let effects = session.machine.handle(input, at: now)
        if session.machine.record.end != nil, session.machine.hasUnsavedTokens {
            checker.endedInMemory.insert(session.machine.record.id)
        }
        for effect in effects { execute(effect, session, process) }
    }

    private func execute(_ effect: SessionMachine.Effect, _ session: Session, _ process: SimulatedProcess) {
        func later(_ pause: Duration) -> Int { clock.time + Int((pause.seconds * 1000).rounded(.up)) }
        switch effect {
        case .call(let call):
            if flaw == .publishesBeforeStored, case .update(.received(let attempt, let response), _, _) = call.work {
                checker.handsOut(response.token, for: attempt.need, server)
            }
            session.events.append(.call(call, until: clock.time + SimulatedStore.callTimeout))
        case .lock(let id, _): session.events.append(.lock(id))
        case .unlock(let id):
            session.events.removeAll { if case .lock(id) = $0 { true } else { false } }
            if flaw != .keepsTheLock { session.store.release(session.locks.removeValue(forKey: id)) }
        case .lockTimedOut(let id): session.events.append(.lockTimedOut(id))
        case .wait(let id, let pause): session.events.append(.wait(id, until: later(pause)))
        case .stopWaiting(let id): session.events.removeAll { if case .wait(id, _) = $0 { true } else { false } }
        case .retry(let number, let pause): session.events.append(.retry(number, at: later(pause)))
        case .send(let id, let attempt): send(id, attempt, session, process)
        case .verify(let id, _):
            // Sometimes the keys have to be fetched first.
            session.events.append(.verify(id, at: clock.time + (keysAreSlow ? 10_000 : 0)))
        case .publish: break
        case .revoke(let tokens): session.events.append(.revoke(tokens))
        case .finish(let id, let result): session.completions.removeValue(forKey: id)?(result)
        case .finishAfterRevocations(let id, let result): session.events.append(.finish(id, result))
        }
    }

    /// Returns an ID token whose signature is not verified.
    static func idToken(of subject: String) -> Secret {
        let parts = [#"{"alg":"RS256"}"#, #"{"sub":"\#(subject)"}"#, "signature"]
        return Secret(parts.map { Base64URL.encode(Array($0.utf8)) }.joined(separator: "."))
    }
}

extension AuthStateRecord {
    /// Returns the session with an ID token.
    func identified(as subject: String) throws -> AuthStateRecord {
        var json = try JSON(parsing: encoded()).object ?? JSON.Object()
        json["verifiedIDToken"] = .string(Simulation.idToken(of: subject).reveal())
        return try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "memory")
    }

    /// A short description for the trace.
    var outline: String {
        if let move { return "\(refreshToken?.reveal() ?? "none"), \(move)" }
        if let end { return "ended, \(end.reason)" }
        let failures = backoff.map { ", failure \($0.count)" } ?? ""
        let mark = pendingRefresh == nil ? "" : " (pending)"
        return
            "\(refreshToken?.reveal() ?? "none")\(mark), \(token(for: .session)?.value.reveal() ?? "none")\(failures)"
    }
}
