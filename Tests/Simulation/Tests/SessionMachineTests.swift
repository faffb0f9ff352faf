import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import Testing

@testable import SessionSimulation

/// Inputs in an unlucky order.
struct SessionMachineTests {
    private func record(_ name: String, of subject: String = "alice") throws -> AuthStateRecord {
        let now = Timestamp(wall: Date(timeIntervalSince1970: 1_750_000_000), sinceBoot: .seconds(900), boot: "boot")
        return try AuthStateRecord(
            client: Simulation.client(),
            accessToken: AccessToken(value: Secret("access \(name)"), received: now, lifetime: .seconds(3600)),
            refreshToken: Secret("refresh \(name)")
        ).identified(as: subject)
    }

    private func code(_ result: Result<SessionMachine.Outcome, any Error>?) -> AuthError.Code? {
        if case .failure(let error as AuthError)? = result { error.code } else { nil }
    }

    @Test(arguments: [true, false])
    func `a response to the session of before does not change the same user's new session`(rotates: Bool) throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        let new = try record("new")
        bench.stored = new
        // Another caller sees the new session meanwhile.
        bench.take(.begin(2, .token(SessionRules.TokenRequirement(began: bench.now))))
        try bench.respond()
        #expect(bench.machine.record.id == new.id)
        bench.respond(1, refreshToken: rotates ? "refresh late" : nil, idToken: "alice")
        if !rotates { bench.take(.verified(1, .absent, jitter: 0)) }
        try bench.respond()
        #expect(bench.stored?.refreshToken == new.refreshToken)
        #expect(bench.stored?.token(for: .session) == new.token(for: .session))
    }

    @Test func `a response after a sign-out is revoked, unless another sign-in has taken the place`() throws {
        for isReplaced in [false, true] {
            var bench = SessionMachineBench(try record("old"))
            try bench.send(1)
            bench.take(.begin(2, .signOut(reason: "signed out")))
            try bench.respond()
            if isReplaced { bench.stored = try record("new") }
            bench.respond(1, refreshToken: "refresh late")
            try bench.respond()
            #expect(bench.revoked == (isReplaced ? [] : ["refresh late", "new"]))
            #expect(code(bench.outcomes(of: 1).first) == .signInRequired)
        }
    }

    @Test func `nothing is handed out after a sign-out that came while the store refused`() throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.isRefusing = true
        bench.respond(1)
        try bench.respond()
        bench.take(.begin(2, .signOut(reason: "signed out")))
        try bench.respond()
        #expect(code(bench.outcomes(of: 1).first) == .signInRequired)
    }

    @Test(arguments: [true, false])
    func `a second sign-out still knows the tokens that only memory had`(isRemoved: Bool) throws {
        var bench = SessionMachineBench(try record("old"))
        bench.take(.revoked([Secret("refresh old"), Secret("access old")]))
        try bench.send(1)
        bench.isRefusing = true
        bench.respond(1, refreshToken: "refresh new")
        try bench.respond()
        #expect(bench.machine.hasUnsavedTokens && bench.unlocked.isEmpty)
        bench.take(.begin(2, .signOut(reason: "signed out")))
        // Nothing is lost if another process sends the old refresh token now.
        #expect(bench.unlocked == [1])
        try bench.respond()
        #expect(code(bench.outcomes(of: 2).first) == .store)
        bench.isRefusing = false
        if isRemoved { bench.stored = nil }
        bench.take(.begin(3, .signOut(reason: "signed out")))
        try bench.respond()
        #expect(bench.revoked == ["refresh new", "new"])
        #expect(bench.outcomes(of: 3).count == 1)
        #expect(bench.stored == nil)
    }

    @Test func `a sign-out of a session that no store has had expects none`() throws {
        for wasStored in [false, true] {
            var bench = SessionMachineBench(try record("new"), wasStored: wasStored)
            bench.take(.begin(1, .signOut(reason: "signed out")))
            #expect(bench.call?.expectsSession == wasStored)
        }
    }

    /// The refresh has lost its lock to the mover. If the mover dies, the next one needs the lock.
    @Test(arguments: [true, false])
    func `a refresh whose session is being moved stores nothing, and releases the lock`(wasRejected: Bool) throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.respond(1, refreshToken: "refresh late")
        bench.isRefusing = wasRejected
        if wasRejected { try bench.respond() }
        bench.isRefusing = false
        bench.stored?.move = .leaving(to: "there")
        let moving = bench.stored
        if wasRejected { bench.take(.retry(try #require(bench.retries.last))) }
        try bench.respond()
        #expect(bench.stored == moving && bench.revoked.isEmpty)
        #expect(code(bench.outcomes(of: 1).first) == .store)
        #expect(bench.unlocked == [1])
    }

    @Test(arguments: [AuthStateRecord.Move.leaving(to: "there"), nil])
    func `the registration of a session that is being moved is not changed`(move: AuthStateRecord.Move?) throws {
        var bench = SessionMachineBench(try record("old"))
        bench.stored?.move = move
        bench.take(.begin(1, .registration))
        bench.take(.locked(1, nil))
        try bench.respond()
        let outcome = try #require(bench.outcomes(of: 1).first)
        if move == nil {
            #expect(throws: Never.self) { try outcome.get() }
            #expect(bench.unlocked.isEmpty)
            bench.take(.workDone(1))
        } else {
            #expect(throws: AuthError.self) { try outcome.get() }
        }
        #expect(bench.unlocked == [1])
    }

    @Test(arguments: [true, false])
    func `the registration of a session that is gone from the store is not changed`(isReplaced: Bool) throws {
        var bench = SessionMachineBench(try record("old"))
        bench.stored = isReplaced ? try record("new", of: "bob") : nil
        bench.take(.begin(1, .registration))
        bench.take(.locked(1, nil))
        try bench.respond()
        #expect(code(bench.outcomes(of: 1).first) == (isReplaced ? .sessionReplaced : .signInRequired))
        #expect(bench.unlocked == [1])
    }

    @Test(arguments: [true, false])
    func `a refusal that the store does not take ends nothing, since the same user may have signed in again`(
        hasSignedInAgain: Bool
    ) throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.isRefusing = true
        bench.take(.responded(1, .failure(AuthError(.invalidGrant, .refresh, "refused")), jitter: 0))
        try bench.respond()
        #expect(code(bench.outcomes(of: 1).first) == .store)
        #expect(bench.machine.isAuthorized && bench.unlocked.isEmpty)
        bench.isRefusing = false
        let new = try record("new")
        if hasSignedInAgain { bench.stored = new }
        bench.take(.begin(2, .token(SessionRules.TokenRequirement(began: bench.now))))
        while bench.call != nil { try bench.respond() }
        #expect(bench.unlocked == [1])
        #expect(bench.machine.isAuthorized == hasSignedInAgain)
        #expect(bench.machine.record.id == (hasSignedInAgain ? new.id : bench.stored?.id))
        #expect(code(bench.outcomes(of: 2).first) == (hasSignedInAgain ? nil : .signInRequired))
    }

    @Test func `a sign-out that the store refuses is stored without a caller`() throws {
        var bench = SessionMachineBench(try record("old"))
        bench.isRefusing = true
        bench.take(.begin(1, .signOut(reason: "signed out")))
        bench.take(.leave(1))
        try bench.respond()
        bench.isRefusing = false
        bench.take(.retry(try #require(bench.retries.last)))
        try bench.respond()
        #expect(bench.stored == nil)
    }

    @Test func `an attempt that follows another without a caller does not prompt the user`() throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.isRefusing = true
        bench.respond(1, refreshToken: "refresh new")
        try bench.respond()
        bench.take(.retry(try #require(bench.retries.last)))
        #expect(bench.call?.isUnattended == true)
        bench.take(.begin(2, .signOut(reason: "signed out")))
        bench.take(.leave(2))
        let failures = bench.reportedFailures
        try bench.respond()
        #expect(bench.call?.isUnattended == true)
        #expect(bench.reportedFailures == failures + 1)
    }

    @Test func `a pause that ends after the lock was acquired has no effect`() throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        let waits = bench.waits(of: 1)
        bench.take(.waited(1))
        #expect(bench.waits(of: 1) == waits && bench.call == nil)
    }

    @Test func `a caller that waits for the lock goes on waiting after a failed attempt that nobody waits for`() throws
    {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        var need = SessionRules.TokenRequirement(began: bench.now)
        (need.isForced, need.seen) = (true, bench.machine.record.token(for: .session))
        bench.take(.begin(2, .token(need)))
        try bench.respond()
        bench.isRefusing = true
        bench.take(.begin(3, .signOut(reason: "signed out")))
        try bench.respond()
        bench.take(.retry(try #require(bench.retries.last)))
        bench.take(.waited(2))
        let waits = bench.waits(of: 2)
        try bench.respond()
        #expect(bench.outcomes(of: 2).isEmpty && bench.waits(of: 2) == waits + 1)
    }

    /// If it is older, the store has rejected the one in memory.
    @Test(arguments: [true, false])
    func `an access token that another process has stored is adopted if it is newer`(isNewer: Bool) throws {
        var bench = SessionMachineBench(try record("old"))
        var json = try #require(JSON(parsing: bench.machine.record.encoded()).object)
        var token = try #require(json["accessToken"]?.object)
        var received = try #require(token["received"]?.object)
        received["sinceBoot"] = isNewer ? 950 : 850
        (token["value"], token["received"]) = ("access other", .object(received))
        json["accessToken"] = .object(token)
        bench.stored = try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "test")
        bench.take(.begin(1, .read(isUnattended: true)))
        try bench.respond()
        let found = bench.machine.record.token(for: .session)?.value
        #expect(found == Secret(isNewer ? "access other" : "access old"))
    }

    @Test func `by default a refresh waits two minutes for the lock, and reads the store every two seconds`() {
        #expect(LockPatience().limit == .seconds(120) && LockPatience().pause == .seconds(2))
    }

    @Test(arguments: [true, false])
    func `a queued attempt may prompt the user once a caller waits for it`(isWaitedFor: Bool) throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.isRefusing = true
        bench.respond(1, refreshToken: "refresh new")
        try bench.respond()
        bench.take(.begin(2, .read(isUnattended: true)))
        bench.take(.retry(try #require(bench.retries.last)))
        if isWaitedFor { bench.take(.begin(3, .save)) }
        // The store reads first.
        try bench.respond()
        #expect(bench.call?.isUnattended == !isWaitedFor)
    }

    @Test(arguments: [true, false])
    func `a registration is stored, even if the session never was`(wasStored: Bool) throws {
        var bench = SessionMachineBench(try record("old"), wasStored: wasStored)
        bench.take(.begin(1, .registration))
        bench.take(.locked(1, nil))
        try bench.respond()
        let client = Client(
            id: bench.machine.record.client.id, authentication: .clientSecretBasic(Secret("new secret")),
            provider: bench.machine.record.client.provider)
        bench.take(.registered(1, client))
        try bench.respond()
        #expect(bench.stored?.client.authentication == client.authentication)
        #expect(bench.stored?.id == bench.machine.record.id)
        // The next change of the registration begins after this one has returned.
        #expect(bench.unlocked.isEmpty)
        bench.take(.workDone(1))
        #expect(bench.unlocked == [1])
    }

    @Test func `a timer of an earlier change makes no attempt for a later one`() throws {
        var bench = SessionMachineBench(try record("old"))
        for id in 1...2 {
            try bench.send(id)
            bench.isRefusing = true
            bench.respond(id, refreshToken: "refresh \(id)")
            try bench.respond()
            #expect(code(bench.outcomes(of: id).first) == .store && bench.retries.count == id)
            bench.isRefusing = false
            guard id == 1 else { break }
            bench.take(.begin(3, .save))
            try bench.respond()
            #expect(bench.stored?.refreshToken == Secret("refresh 1"))
            bench.take(.retry(bench.retries[0]))
            #expect(bench.call == nil)
        }
        bench.take(.retry(bench.retries[0]))
        #expect(bench.call == nil)
        bench.take(.retry(bench.retries[1]))
        try bench.respond()
        #expect(bench.stored?.refreshToken == Secret("refresh 2"))
    }

    @Test func `a refresh goes on although its caller has left`() throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.take(.leave(1))
        #expect(bench.outcomes(of: 1).isEmpty)
        bench.respond(1, refreshToken: "refresh new")
        try bench.respond()
        #expect(bench.stored?.refreshToken == Secret("refresh new"))
        #expect(bench.outcomes(of: 1).count == 1)
    }

    @Test func `an access token that the store rejects twice is handed out, and its rejection reported`() throws {
        var bench = SessionMachineBench(try record("old"))
        try bench.send(1)
        bench.isRefusing = true
        bench.respond(1)
        try bench.respond()
        #expect(bench.outcomes(of: 1).isEmpty && bench.reportedFailures == 0)
        try bench.respond()
        #expect(throws: Never.self) { try bench.outcomes(of: 1).first?.get() }
        #expect(bench.outcomes(of: 1).count == 1 && bench.reportedFailures == 1)
    }

    @Test func `the registration goes to another session of the client, but not to what a sign-out has left`() throws {
        for isOver in [false, true] {
            var bench = SessionMachineBench(try record("old"))
            bench.take(.begin(1, .registration))
            bench.take(.locked(1, nil))
            try bench.respond()
            bench.stored = try record("new", of: "bob")
            if isOver { bench.stored?.move = .signedOut(at: "there") }
            let client = Client(
                id: bench.machine.record.client.id, authentication: .clientSecretBasic(Secret("new secret")),
                provider: bench.machine.record.client.provider)
            bench.take(.registered(1, client))
            try bench.respond()
            #expect((bench.stored?.client.authentication == client.authentication) == !isOver)
        }
    }

    @Test func `the registration of a session that another process has signed out is not changed`() throws {
        var bench = SessionMachineBench(try record("old"))
        bench.stored?.move = .leaving(to: "there")
        let known = SessionRules.Knowledge(record: bench.machine.record, wasStored: true)
        _ = SessionRules.apply(.signedOut, to: &bench.stored, known: known, at: bench.now)
        try #require(bench.stored?.end != nil)
        bench.take(.begin(1, .registration))
        bench.take(.locked(1, nil))
        try bench.respond()
        #expect(code(bench.outcomes(of: 1).first) == .signInRequired)
    }

    @Test func `a waiting caller gets one result, however often it has asked`() throws {
        var bench = SessionMachineBench(try record("old"))
        var need = SessionRules.TokenRequirement(began: bench.now)
        (need.isForced, need.seen) = (true, bench.machine.record.token(for: .session))
        for id in 1...2 {
            bench.take(.begin(id, .token(need)))
            try bench.respond()
        }
        bench.isRefusing = true
        bench.take(.begin(3, .signOut(reason: "signed out")))
        bench.take(.waited(2))
        bench.take(.locked(1, AuthError(.store, .store, "no lock")))
        try bench.respond()
        #expect(bench.outcomes(of: 2).count == 1)
    }
}
