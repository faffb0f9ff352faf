import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE

// What `AuthState.present` does: one request, and the verification of what comes.
extension Simulation {
    func send(
        _ attempt: SessionRules.Attempt, _ task: Task, _ process: SimulatedProcess, _ memory: Memory
    ) {
        let token = attempt.refreshToken?.reveal() ?? ""
        let others = wire.requests.filter {
            !$0.isOver && !$0.isAbandoned && server.grant(of: $0.refreshToken) === server.grant(of: token)
        }
        let need = attempt.need.doubt == nil ? task.need : attempt.need
        checker.sends(
            attempt, for: need, of: memory.record.id, beside: others.count, memory.store.record, at: clock.timestamp)
        let fault = wire.fault.map { ", \($0)" } ?? ""
        note("process \(process.number) sends \(token)\(fault)")
        // What a refresh of the session's own has to find out is nothing that the caller asks for.
        let kind = attempt.need.parameters == task.need.parameters ? task.kind : .forced
        let request = wire.send(token, kind, from: process.number, at: clock.time)
        task.point = .wire(attempt, request)
    }

    func receive(
        _ attempt: SessionRules.Attempt, _ request: SimulatedRequest, _ task: Task, _ process: SimulatedProcess,
        _ memory: Memory
    ) {
        request.isOver = request.isAnswered
        switch request.isAnswered ? request.response : nil {
        case .tokens(let access, let refresh)?:
            if let refresh, server.fates[refresh] != .stored {
                server.fates[refresh] = .received(process: process.number)
            }
            let response = TokenResponse(
                accessToken: Secret(access), lifetime: .seconds(setting.manner.lifetime),
                refreshToken: refresh.map(Secret.init), received: now,
                serverClock: ServerClock(date: clock.serverDate, received: now))
            checker.receives(response.accessToken, at: clock.timestamp)
            note("process \(process.number) has the answer: \(access), \(refresh ?? "no refresh token")")
            task.answered = request
            guard refresh != nil else {
                return task.point = .verify(attempt, response, request)
            }
            task.point = .commit(
                .init(
                    event: .received(attempt, response),
                    known: .init(record: memory.record, wasStored: memory.wasStored), then: nil, looks: memory.looks))
        case .http(let response)?:
            fail(attempt, Self.error(of: response, at: now), request, task, memory)
        case nil:
            let error = AuthError(
                request.isUnsent ? .transport : .timeout, .refresh, "expected a response, found none",
                outcome: request.isUnsent ? .notSent : .perhapsProcessed, isTemporary: true)
            fail(attempt, error, request, task, memory)
        }
    }

    private func fail(
        _ attempt: SessionRules.Attempt, _ error: AuthError, _ request: SimulatedRequest, _ task: Task,
        _ memory: Memory
    ) {
        var error = error
        if flaw == .endsOnAnyError { (error.code, error.isTemporary) = (.invalidGrant, false) }
        if flaw == .blamesEverybody, error.code == "invalid_scope" {
            (error.code, error.server) = (.invalidResponse, nil)
        }
        note("no token: \(error.code.rawValue)\(error.httpStatus.map { ", status \($0)" } ?? "")")
        task.point = .commit(
            .init(
                event: .failed(attempt, error, jitter: request.jitter),
                known: .init(record: memory.record, wasStored: memory.wasStored), then: nil, looks: memory.looks))
    }

    func verdict(_ request: SimulatedRequest) -> SessionRules.IDTokenOutcome {
        switch clock.time < server.idTokens.until ? server.idTokens.0 : .fine {
        case .fine: .verified(nil, keys: nil)
        case .unverifiable:
            .unverifiable(AuthError(.clockSkew, .idToken, "the ID token is refused", isTemporary: true))
        case .foreign: .refused(AuthError(.invalidIDToken, .idToken, "expected another subject"))
        }
    }

    func revoke(_ orphan: TokenResponse) {
        let grant = server.grant(of: orphan.accessToken.reveal())
        let current = home.record.flatMap {
            checker.signedOut.contains($0.id) || checker.endedInMemory.contains($0.id) ? nil : $0.refreshToken
        }
        let isInUse = current.map { server.grant(of: $0.reveal()) === grant } ?? false
        checker.require(!isInUse, .sessionKept, "the tokens of a session that lasts are revoked")
        note("the orphan \(orphan.accessToken.reveal()) is revoked")
        server.revoke(orphan.accessToken.reveal())
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

    static let signInRequired = AuthError(.signInRequired, .refresh, "the session has ended")

    /// What a sign-out leaves in memory: `AuthStateRecord.end`, by way of the stored form.
    static func signedOut(_ record: AuthStateRecord) -> AuthStateRecord {
        guard record.end == nil, let bytes = try? record.encoded(), var json = (try? JSON(parsing: bytes))?.object
        else { return record }
        for name in ["accessToken", "refreshToken", "keys", "presented", "trouble", "otherTokens"] { json[name] = nil }
        json["end"] = ["reason": "signed out", "date": 1_750_000_000]
        return (try? AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "memory")) ?? record
    }
}

extension SimulatedRequest {
    var jitter: Double { Double(number * 37 % 101) / 100 }
}

extension AuthStateRecord {
    /// For a trace.
    var outline: String {
        if let move { return "\(refreshToken?.reveal() ?? "none"), \(move)" }
        if let end { return "ended, \(end.reason)" }
        let failures = backoff.map { ", failure \($0.count)" } ?? ""
        let mark = pendingRefresh == nil ? "" : " (presented)"
        return "\(refreshToken?.reveal() ?? "none")\(mark), \(accessToken?.value.reveal() ?? "none")\(failures)"
    }
}
