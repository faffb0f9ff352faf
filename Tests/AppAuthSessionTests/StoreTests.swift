import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// New tokens are handed out once the store has them, and not lost where it refuses.
@Suite(.timeLimit(.minutes(5)))
struct StoreTests {
    @Test(arguments: [true, false])
    func `a store that refuses is an error; the tokens stay in memory and are stored by the next call`(
        isForeign: Bool
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            let refused = AuthError(.store, .store, "the disk is full", outcome: .notSent)
            await store.refuse(with: isForeign ? TestStore.Refusal() : refused, after: 1)
            for _ in 0..<2 {
                let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
                #expect(error.code == .store)
                #expect(error.message.contains(isForeign ? "test store" : "disk is full"))
                #expect(await store.record?.refreshToken == before.refreshToken)
            }
            let kept = await state.record
            #expect(kept.refreshToken != before.refreshToken)
            #expect(world.provider.count(.token) == 2)

            await store.refuse(with: nil)
            #expect(try await state.freshAccessToken() == kept.accessToken)
            #expect(await store.record == kept)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `tokens that expire before the store accepts them are a store error`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            // A second failure in a row would hold the next call back.
            world.provider.fault(.status(.internalServerError), at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.isTemporary == true)
            world.clock.advance(by: 1)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
            let kept = await state.record
            world.clock.advance(by: 2 * 3600)
            await store.refuse(with: nil)
            let token = try await state.freshAccessToken()
            #expect(token != kept.accessToken && !token.isExpired(at: world.clock.timestamp))
            #expect(await state.record.backoff == nil)
            #expect(await store.record?.backoff == nil)
            #expect(world.provider.count(.token) == 4)
        }
    }

    /// The refresh token stays the same, so nothing is lost with the access token.
    @Test func `an access token that the store has rejected is handed out, and not taken back by a read`() async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.rotatesRefreshTokens = false
        try await World.run(configuration) { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let changes = state.changes
            world.clock.advance(by: 3600)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            let token = try await state.freshAccessToken()
            await store.refuse(with: nil)
            try await state.synchronize()
            #expect(try await state.freshAccessToken() == token)
            #expect(world.provider.count(.token) == 2)
            // The next refresh, here or elsewhere, replaces it.
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            world.clock.advance(by: 1)
            let next = try await second.freshAccessToken()
            try await state.synchronize()
            #expect(try await state.freshAccessToken() == next && next != token)
            var renewed: [AccessToken?] = []
            for await change in changes {
                if case .renewed(let record) = change { renewed.append(record.accessToken) }
                if renewed.count == 2 { break }
            }
            #expect(renewed == [token, next])
        }
    }

    @Test func `no caller gets a token before it is stored, and a thousand callers share one write`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.clock.advance(by: 3600)
            await store.hold(after: 2)
            let isOut = LockedValue(false)
            let call = { @Sendable in
                let token = try await state.freshAccessToken()
                isOut.withLock { $0 = true }
                return token
            }
            let callers = (0..<1000).map { _ in Task { try await call() } }
            try await store.begun(3)
            // These come while the new token waits for the store.
            let later = (0..<1000).map { _ in Task { try await call() } }
            try await waitUntil { state.waitingCount == 2000 }
            #expect(!isOut.withLock { $0 })
            await store.release()
            var tokens: Set<AccessToken> = []
            for caller in callers + later { tokens.insert(try await caller.value) }
            #expect(tokens.count == 1)
            #expect(await store.record?.accessToken == tokens.first)
            #expect(await store.saves == 3)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a session that the store could not end is ended by the next call`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.revokeGrant(of: try #require(await state.record.refreshToken).reveal())
            await store.refuse(with: TestStore.Refusal(), after: 1)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .store)
            #expect(await store.record?.end == nil)
            #expect(await state.isAuthorized)
            await store.refuse(with: nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(await store.record?.end != nil)
        }
    }
}
