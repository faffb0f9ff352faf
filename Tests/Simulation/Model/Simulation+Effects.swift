import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE

/// What a session asks of its store and of the provider.
extension Simulation {
    // MARK: - The store

    func execute(
        _ call: SessionMachine.StoreCall, _ session: Session
    ) -> Result<SessionMachine.StoreResult, any Error> {
        let store = session.store
        do {
            guard case .update(let event, var known, let time) = call.work else {
                return .success(.loaded(try store.read(at: clock.time)))
            }
            if let lost = lostLock(of: call, session) {
                guard isLockFree(store) else {
                    throw AuthError(.store, .store, "the lock was lost", outcome: .notSent, isTemporary: true)
                }
                note("process \(lost.process) acquires the lock again")
                call.lock.map { session.locks[$0] = store.lock(for: lost.process, isRegained: true) }
            }
            let lock = call.lock.flatMap { session.locks[$0] }
            if let lock, lock.number != store.lockNumber { lock.isMisused = true }
            known.lockWasLost = lock?.isRegained ?? false && flaw != .revokesMoved
            return .success(try update(store, event, known, time))
        } catch { return .failure(error) }
    }

    /// Returns the lock of a change if a database refuses the change: the process knows that the lock was lost, or the
    /// database has granted it again.
    func lostLock(of call: SessionMachine.StoreCall, _ session: Session) -> SimulatedStore.Lock? {
        guard setting.losesLocks, case .update = call.work, let lock = call.lock.flatMap({ session.locks[$0] }) else {
            return nil
        }
        let isCurrent = lock.number == session.store.lockNumber || flaw == .writesLate
        return lock.isHeld && isCurrent ? nil : lock
    }

    private func update(
        _ store: SimulatedStore, _ event: SessionRules.Event, _ known: SessionRules.Knowledge, _ time: Timestamp?
    ) throws -> SessionMachine.StoreResult {
        let old = try store.read(at: clock.time)
        if flaw == .storesLate, case .received = event { return .updated(.init(.done), old) }
        var changed = old
        let now = now
        let decision =
            try SessionRules.duringMove(event, old, at: store.location)
            ?? decide(event, &changed, known, at: now, occurredAt: time)
        // The session was moved with the refresh token before it, or signed out. This process cannot know which.
        if known.lockWasLost, old?.id != known.record.id || old?.move != nil,
            let token = event.response?.refreshToken?.reveal(),
            server.fates[token] != .stored
        {
            server.fates[token] = .lost
        }
        defer {
            if old != changed, store.record == changed {
                checker.stores(old, changed, by: event, server)
                if changed?.id == known.record.id {
                    checker.counts(event, decision.action, known.record.id, at: time ?? now)
                }
                note(changed.map { "stored: \($0.outline)" } ?? "removed from the store")
            }
        }
        try store.write(changed, at: clock.time)
        return .updated(decision, changed)
    }

    // MARK: - The provider

    func send(
        _ id: SessionMachine.ID, _ attempt: SessionRules.Attempt, _ session: Session, _ process: SimulatedProcess
    ) {
        guard let caller = session.beginners[id] else { return }
        let lock = session.locks[id]
        if let lock, !lock.isHeld {
            guard flaw == .sendsWithoutLock else { return session.events.append(.unsent(id)) }
            lock.isMisused = true
        }
        let token = attempt.refreshToken?.reveal() ?? ""
        let others = wire.requests.filter {
            !$0.isOver && !$0.isAbandoned && server.grant(of: $0.refreshToken) === server.grant(of: token)
                && !($0.lock?.isExcused ?? false)
        }
        checker.sends(
            attempt, for: caller.need, of: session.machine.record.id, beside: others.count, session.store.record,
            isLate: lock?.isExcused ?? false, at: clock.timestamp)
        note("process \(process.number) sends \(token)\(wire.fault.map { ", \($0)" } ?? "")")
        session.events.append(
            .wire(id, wire.send(token, caller.kind, from: process.number, under: lock, at: clock.time)))
    }

    func receive(
        _ id: SessionMachine.ID, _ request: SimulatedRequest, _ session: Session, _ process: SimulatedProcess
    ) {
        request.isOver = request.isAnswered
        (jitter, keysAreSlow) = (Double(request.number * 37 % 101) / 100, request.number % 4 == 1)
        switch request.isAnswered ? request.response : nil {
        case .tokens(let access, let refresh)?:
            if let refresh, server.fates[refresh] != .stored {
                server.fates[refresh] = .received(process: process.number)
            }
            let response = TokenResponse(
                accessToken: Secret(access), lifetime: .seconds(setting.manner.lifetime),
                refreshToken: refresh.map(Secret.init), idToken: Self.idToken(of: "alice"), received: now,
                serverClock: ServerClock(date: clock.serverDate, received: now))
            checker.receives(response.accessToken, with: refresh, at: clock.timestamp)
            session.latestResponse = refresh.map { ($0, clock.time) }
            note("process \(process.number) has the response: \(access), \(refresh ?? "no refresh token")")
            feed(.responded(id, .success(response), jitter: jitter), session, process)
        case .http(let response)?: fail(id, Self.error(of: response, at: now), session, process)
        case nil:
            let error = AuthError(
                request.isUnsent ? .transport : .timeout, .refresh, "expected a response, found none",
                outcome: request.isUnsent ? .notSent : .perhapsProcessed, isTemporary: true)
            fail(id, error, session, process)
        }
    }

    func fail(
        _ id: SessionMachine.ID, _ error: AuthError, _ session: Session, _ process: SimulatedProcess
    ) {
        var error = error
        if flaw == .endsOnAnyError { (error.code, error.outcome, error.isTemporary) = (.invalidGrant, .refused, false) }
        if flaw == .blamesEverybody, error.code == "invalid_scope" {
            (error.code, error.server) = (.invalidResponse, nil)
        }
        note("no token: \(error.code.rawValue)\(error.httpStatus.map { ", status \($0)" } ?? "")")
        feed(.responded(id, .failure(error), jitter: jitter), session, process)
    }

    /// The result of verifying the current ID tokens.
    var outcome: SessionRules.IDTokenOutcome {
        var refusal = AuthError(.invalidIDToken, .idToken, "expected another subject")
        switch clock.time < server.idTokens.until ? server.idTokens.0 : .fine {
        case .fine: return keysAreSlow ? .unverified(AuthError(.timeout, .keys, "no keys", isTemporary: true)) : .absent
        case .unverified: return .unverified(AuthError(.clockSkew, .idToken, "invalid ID token", isTemporary: true))
        case .refused: return .refused(refusal)
        case .foreign:
            refusal.isForeign = true
            return .refused(refusal)
        }
    }

    func revoke(_ tokens: [RevocableToken]) {
        for token in tokens.map({ $0.value.reveal() }) {
            let grant = server.grant(of: token)
            let current = home.record.flatMap {
                checker.signedOut.contains($0.id) || checker.endedInMemory.contains($0.id) ? nil : $0.refreshToken
            }
            let isInUse = current.map { server.grant(of: $0.reveal()) === grant } ?? false
            checker.require(!isInUse, .sessionKept, "the tokens of a session that lasts are revoked")
            note("\(token) is revoked")
            server.revoke(token)
        }
    }

    private static func error(of response: TransportResponse, at now: Timestamp) -> AuthError {
        do {
            guard response.status == .ok else {
                let url = try SecureURL("https://op.example/token")
                return response.oauthError(from: url, stage: .refresh, hiding: [])
            }
            _ = try TokenResponse(response, received: now, stage: .refresh)
            return AuthError(.invalidResponse, .refresh, "expected a page")
        } catch { return error as? AuthError ?? AuthError(.invalidResponse, .refresh, "\(error)") }
    }
}
