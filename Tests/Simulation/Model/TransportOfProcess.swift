import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE

/// The provider as one process reaches it.
struct TransportOfProcess: HTTPTransport {
    let simulation: Simulation
    let life: Life

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        try life.host.checkLife()
        switch request.head.path {
        case "/token":
            return try await refresh(
                FormParameters(decoding: String(decoding: request.body ?? [], as: UTF8.self)) ?? FormParameters())
        case "/revoke":
            let form = FormParameters(decoding: String(decoding: request.body ?? [], as: UTF8.self))
            return try await life.host.call {
                form?.values("token").first.map(simulation.revoke)
                return TransportResponse(HTTPResponse(status: .ok), body: [])
            }
        default: return try await keys()
        }
    }

    private func refresh(_ form: FormParameters) async throws -> TransportResponse {
        let kind: CallKind =
            switch form.values("scope").first {
            case "read": .narrowed
            case "admin": .ungranted
            default: .usual
            }
        let request = simulation.send(form.values("refresh_token").first ?? "", kind, life)
        while simulation.world.now < request.endsAt {
            try await life.host.pause(request.endsAt - simulation.world.now)
        }
        return try simulation.receive(request, life)
    }

    private func keys() async throws -> TransportResponse {
        life.fetches += 1
        defer { if !simulation.world.isDead(life.host.process) { life.fetches -= 1 } }
        try await life.host.pause(simulation.keysAreSlow ? 12_000 : 20)
        guard !simulation.areKeysAway else { return SimulatedServer.page(503, "text/html", "<p>Sorry") }
        return SimulatedServer.page(200, "application/json", IDTokens.keys(named: simulation.keyName))
    }
}

extension Simulation {
    func send(_ token: String, _ kind: CallKind, _ life: Life) -> SimulatedRequest {
        // Notes which requests nobody waits for any more.
        wire.deliver(to: server, until: world.now)
        let lock = life.grip?.lock
        if let lock, !lock.isHeld { lock.isMisused = true }
        let others = wire.requests.filter {
            !$0.isOver && !$0.isAbandoned && server.grant(of: $0.refreshToken) === server.grant(of: token)
                && !($0.lock?.isExcused ?? false)
        }
        if let (attempt, need) = life.attempt {
            checker.sends(
                attempt, for: need, of: attempt.session, beside: others.count, store.record,
                isLate: lock?.isExcused ?? false, at: clock.timestamp(at: world.now))
        }
        note("process \(life.process) sends \(token)\(wire.fault.map { ", \($0)" } ?? "")")
        let request = wire.send(token, kind, from: life.process, under: lock, at: world.now)
        if let arrival = request.processedAt {
            world.schedule(after: arrival - world.now) { [self] in wire.deliver(to: server, until: world.now) }
        }
        return request
    }

    /// The outcome of a request, as the client sees it.
    func receive(_ request: SimulatedRequest, _ life: Life) throws -> TransportResponse {
        wire.deliver(to: server, until: world.now)
        request.isOver = request.isAnswered
        keysAreSlow = request.number % 4 == 1 && !world.isCalm
        switch request.isAnswered ? request.response : nil {
        case .tokens(let access, let refresh, let endsIn)?:
            if let refresh, server.fates[refresh] != .stored {
                server.fates[refresh] = .received(process: life.process)
            }
            checker.receives(Secret(access), with: refresh, at: clock.timestamp(at: world.now))
            life.latestResponse = refresh.map { ($0, world.now) }
            note("process \(life.process) has the response: \(access), \(refresh ?? "no refresh token")")
            return response(access, refresh, endsIn, request)
        case .http(let response)?:
            note("process \(life.process) gets the status \(response.status.code)")
            return response
        case nil:
            note("process \(life.process) gets no response")
            throw AuthError(
                request.isUnsent ? .transport : .timeout, .refresh, "expected a response, found none",
                outcome: request.isUnsent ? .notSent : .perhapsProcessed, isTemporary: true)
        }
    }

    private func response(
        _ access: String, _ refresh: String?, _ endsIn: Int?, _ request: SimulatedRequest
    ) -> TransportResponse {
        var json: JSON.Object = [
            "access_token": .string(access), "token_type": "Bearer",
            "expires_in": .number(.init(setting.manner.lifetime)),
        ]
        json["refresh_token"] = refresh.map(JSON.string)
        json["refresh_token_expires_in"] = endsIn.map { .number(.init($0)) }
        let fault = world.now < server.idTokens.until ? server.idTokens.0 : .fine
        areKeysAway = fault == .unverified
        // Nearly all servers send one sometimes. New keys have to be fetched first.
        if keysAreSlow || areKeysAway { keyName += 1 }
        if keysAreSlow || fault != .fine || request.number % 3 == 0, let grant = server.grant(of: access) {
            server.hasSentWrongIDToken = server.hasSentWrongIDToken || [.refused, .foreign].contains(fault)
            let subject = fault == .foreign ? "somebody else" : "user \(grant.number)"
            json["id_token"] = .string(
                IDTokens.token(
                    for: subject, audience: fault == .refused ? "another" : "app", at: clock.date(at: world.now),
                    keyName))
        }
        var response = SimulatedServer.page(200, "application/json", JSON.object(json).serialized())
        response.headerFields[.date] = IDTokens.httpDate(clock.date(at: world.now))
        return response
    }

    func revoke(_ token: String) {
        let grant = server.grant(of: token)
        let current = store.record.flatMap {
            checker.signedOut.contains($0.id) || checker.endedInMemory.contains($0.id) ? nil : $0.refreshToken
        }
        let isInUse = current.map { server.grant(of: $0.reveal()) === grant } ?? false
        checker.require(!isInUse, .sessionKept, "the tokens of a session that lasts are revoked")
        note("\(token) is revoked")
        server.revoke(token)
    }
}

/// The provider's ID tokens and keys.
enum IDTokens {
    private static let key: SigningKey = {
        do { return try SigningKey.generate(.es256) } catch { fatalError("\(error)") }
    }()

    static func token(for subject: String, audience: String, at date: Date, _ keyName: Int) -> String {
        let now = Int(date.timeIntervalSince1970)
        let claims: JSON.Object = [
            "iss": "https://op.example", "sub": .string(subject), "aud": .string(audience),
            "iat": .number(.init(now)), "exp": .number(.init(now + 3600)),
        ]
        do { return try JWS.sign(.object(claims), header: ["kid": .string("\(keyName)")], with: key) } catch {
            fatalError("\(error)")
        }
    }

    static func keys(named name: Int) -> String {
        var jwk = key.publicKey
        jwk.kid = "\(name)"
        return JSON.object(["keys": [jwk.json]]).serialized()
    }

    /// RFC 9110 §5.6.7.
    static func httpDate(_ date: Date) -> String {
        var (seconds, parts) = (time_t(date.timeIntervalSince1970), tm())
        gmtime_r(&seconds, &parts)
        return String(unsafeUninitializedCapacity: 40) { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                strftime($0.baseAddress!, 40, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            }
        }
    }
}

extension AuthStateRecord {
    /// Returns the session with an ID token.
    func identified(as subject: String, at date: Date) throws -> AuthStateRecord {
        var json = try JSON(parsing: encoded()).object ?? JSON.Object()
        json["verifiedIDToken"] = .string(IDTokens.token(for: subject, audience: "app", at: date, 0))
        return try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "memory")
    }

    /// A short description for the trace.
    var outline: String {
        if let end { return "ended, \(end.reason)" }
        let failures = backoff.map { ", failure \($0.count)" } ?? ""
        return "\(refreshToken?.reveal() ?? "none"), \(token(for: .session)?.value.reveal() ?? "none")\(failures)"
    }
}
