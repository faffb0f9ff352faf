import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Refreshes that fail one after another, and the pauses that all callers then keep.
@Suite(.timeLimit(.minutes(5)))
struct TroubleTests {
    @Test func `there is no pause after a first failure, then 1 s, doubling to 60 s`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.status(.internalServerError), at: .token, times: nil)
            var pauses: [Double] = []
            for round in 1...10 {
                let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
                #expect(!error.isHeldBack && error.httpStatus == 500)
                #expect(world.provider.count(.token) == 1 + round)
                let pause = try #require(error.retryDelay).seconds
                pauses.append(pause)
                guard pause > 0 else { continue }
                world.clock.advance(by: pause - 0.5)
                let early = try #require(
                    await authError { try await state.freshAccessToken(minimumValidity: .seconds(7200)) })
                #expect(early.isHeldBack && early.outcome == .notSent && early.isTemporary)
                #expect(early.code == error.code && early.message.contains("the last \(round) refreshes failed"))
                #expect(world.provider.count(.token) == 1 + round)
                world.clock.advance(by: 0.5)
            }
            for (pause, expected) in zip(pauses, [0, 1, 2, 4, 8, 16, 32, 48, 48, 48] as [Double]) {
                #expect((expected...expected * 1.25).contains(pause))
            }
            world.provider.clearFaults()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.backoff == nil)
        }
    }

    @Test func `Retry-After counts from the first failure, for all processes of the session`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            world.provider.fault(.tooManyRequests(retryAfter: 30), at: .token)
            #expect(await authError { try await first.freshAccessToken(forceRefresh: true) }?.retryAfter == 30)
            world.clock.advance(by: 29)
            let error = try #require(
                await authError { try await second.freshAccessToken(minimumValidity: .seconds(7200)) })
            #expect(error.isHeldBack && error.retryAfter == 1)
            #expect(error.retryDelay == .seconds(1))
            // A valid token is still returned.
            _ = try await second.freshAccessToken()
            #expect(world.provider.count(.token) == 2)
            world.clock.step(by: -86_400)
            world.clock.advance(by: 1)
            _ = try await second.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test(arguments: [(0, 32), (0.5, 36), (1, 40)] as [(Double, Double)])
    func `jitter makes a pause up to a quarter longer`(jitter: Double, seconds: Double) {
        let error = AuthError(.transport, .refresh, "refused", isTemporary: true)
        let start = TestClock().timestamp
        var trouble: RefreshBackoff?
        for _ in 1...7 { trouble = RefreshBackoff(error, after: trouble, at: start, jitter: jitter) }
        #expect(trouble?.pause.length == .seconds(seconds))
    }

    @Test(arguments: [
        (Fault.status(.unauthorized, json: ["error": "invalid_client"]), false), (.status(.internalServerError), true),
    ])
    func `in the pause, an error is as permanent as before, in other processes too`(
        fault: Fault, isTemporary: Bool
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(fault, at: .token, times: 2)
            for _ in 1...2 {
                let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
                #expect(error?.isTemporary == isTemporary)
            }
            let stored = try AuthStateRecord(decoding: try #require(await store.record).encoded(), from: "test")
            let other = try #require(await AuthState(restoring: TestStore(stored), environment: world.environment))
            let early = await authError { try await other.freshAccessToken(minimumValidity: .seconds(7200)) }
            #expect(early?.isHeldBack == true && early?.isTemporary == isTemporary)
        }
    }

    @Test func `a failure without a pause names no time to wait`() {
        let error = AuthError(.transport, .refresh, "refused", isTemporary: true)
        let start = TestClock().timestamp
        let first = RefreshBackoff(error, after: nil, at: start, jitter: 0)
        #expect(first.error(at: start).retryAfter == nil)
        #expect(RefreshBackoff(error, after: first, at: start, jitter: 0).error(at: start).retryAfter == 1)
    }

    @Test(arguments: [Fault.status(.unauthorized, json: ["error": "invalid_client"]), .lostResponse])
    func `the time of the first lost response is known until the server has responded`(fault: Fault) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshTokenGracePeriod = 30
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            world.provider.fault(.lostResponse, at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            let first = try #require(await state.record.backoff?.lost)
            #expect(first == world.clock.timestamp)
            world.clock.advance(by: 10)
            world.provider.fault(fault, at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            // The server has not used the token up this time; the time before, it may have.
            let failures = try #require(await state.record.backoff)
            #expect(failures.count == 2 && failures.lost == first)
        }
    }

    @Test(arguments: ["86400", "Thu, 31 Dec 2099 23:59:59 GMT"])
    func `a server may ask for five minutes, and no more`(retryAfter: String) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.status(.serviceUnavailable, [.retryAfter: retryAfter]), at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.retryDelay == .seconds(300))
            world.clock.advance(by: 3600 - 10)
            // As a process of today finds it that an older one has stored.
            let other = try #require(await AuthState(restoring: store, environment: world.environment))
            _ = try await other.freshAccessToken(minimumValidity: .seconds(60))
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test func `a pause that was stored longer ends after five minutes`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.tooManyRequests(retryAfter: 86_400), at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            let paused = await state.record
            var json = try #require(try JSON(parsing: paused.encoded()).object)
            var backoff = try #require(json["backoff"]?.object)
            var pause = try #require(backoff["pause"]?.object)
            pause["length"] = 86_400
            (backoff["pause"], json["backoff"]) = (.object(pause), nil)
            json["backoff"] = .object(backoff)
            let bytes = Array(JSON.object(json).serialized().utf8)
            let record = try AuthStateRecord(decoding: bytes, from: "test")
            #expect(record.backoff?.pause.length == .seconds(300))
        }
    }

    @Test func `a forced refresh does not wait for the end of a pause`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.tooManyRequests(retryAfter: 200), at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.retryAfter == 200)
            let pause = try #require(await state.record.refreshPause(at: world.clock.timestamp))
            #expect(pause.retryDelay == .seconds(200) && pause.message.contains("200 s"))
            // A rejection by a resource server is not a forced refresh.
            state.reject(try #require(await state.record.accessToken))
            #expect(await authError { try await state.freshAccessToken() }?.isHeldBack == true)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.refreshPause(at: world.clock.timestamp) == nil)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test func `all callers that waited for a failed refresh get its error, in other processes too`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            let hold = world.provider.hold(.token)
            world.provider.fault(.status(.internalServerError), at: .token)
            let one = Task { await authError { try await first.freshAccessToken(forceRefresh: true) } }
            try await hold.arrived()
            let two = Task { await authError { try await second.freshAccessToken(forceRefresh: true) } }
            try await waitUntil { store.lockWaitingCount == 1 }
            world.clock.advance(by: 1)
            hold.release()
            let errors = (await one.value, await two.value)
            #expect(errors.0?.httpStatus == 500 && errors.1?.httpStatus == 500)
            #expect(errors.1?.isHeldBack == false)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a token that could not be refreshed is returned while it is valid`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let token = try await state.freshAccessToken()
            world.clock.advance(by: 3550)
            world.provider.fault(.tooManyRequests(retryAfter: 30), at: .token)
            let changes = state.changes
            #expect(try await state.freshAccessToken() == token)
            for await case .refreshFailed(let error) in changes {
                #expect(error.httpStatus == 429)
                break
            }
            #expect(try await state.freshAccessToken() == token)
            #expect(world.provider.count(.token) == 2)
            // Callers that need a longer validity or a new token get the error.
            let error = await authError { try await state.freshAccessToken(minimumValidity: .seconds(51)) }
            #expect(error?.isHeldBack == true)
            state.reject(token)
            #expect(await authError { try await state.freshAccessToken() }?.isHeldBack == true)
            world.clock.advance(by: 50)
            #expect(try await state.freshAccessToken() != token)
        }
    }

    @Test func `a server whose tokens are for one use is asked once for each`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.advance(by: 3600)
            world.provider.fault(.editDocument { $0["expires_in"] = 0 }, at: .token, times: nil)
            for _ in 0..<5 { _ = try await state.freshAccessToken() }
            #expect(world.provider.count(.token) == 6)
            // Callers at the same time share one.
            let hold = world.provider.hold(.token)
            let tasks = (0..<3).map { _ in Task { try await state.freshAccessToken().value } }
            try await hold.arrived()
            try await waitUntil { state.waitingCount >= 3 }
            hold.release()
            var tokens: Set<Secret> = []
            for task in tasks { tokens.insert(try await task.value) }
            #expect(tokens.count == 1 && world.provider.count(.token) == 7)
        }
    }

    @Test func `a rejected token is not returned as a fallback`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let token = try await state.freshAccessToken()
            world.clock.advance(by: 3550)
            await store.holdPreparation()
            await store.failHeld()
            let first = Task { try await state.freshAccessToken() }
            try await waitUntil { await store.isPreparing }
            let second = Task { try await state.freshAccessToken() }
            try await waitUntil { state.waitingCount >= 2 }
            state.reject(token)
            let third = Task { try await state.freshAccessToken() }
            try await waitUntil { state.waitingCount >= 3 }
            await store.releasePreparation()
            #expect(try await first.value == token)
            #expect(try await second.value == token)
            #expect(try await third.value != token)
        }
    }

    @Test func `a refused token that the provider gives out again is worth another try`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let token = try await state.freshAccessToken()
            world.provider.fault(
                .editDocument { ($0["access_token"], $0["id_token"]) = (.string(token.value.reveal()), nil) },
                at: .token)
            world.clock.advance(by: 1)
            state.reject(token)
            for _ in 1...3 { #expect(try await state.freshAccessToken().value == token.value) }
            #expect(world.provider.count(.token) == 2)
        }
    }
}
