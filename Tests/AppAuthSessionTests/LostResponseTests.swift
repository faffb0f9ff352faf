import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Responses to refreshes that never came, and what has to be so before a request is sent.
@Suite(.timeLimit(.minutes(5)))
struct LostResponseTests {
    @Test func `a lost response is no end; a refusal afterwards is, and explains itself`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.lostResponse, at: .token)
            let lost = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(lost.outcome == .perhapsProcessed)
            let noted = try #require(await store.record)
            #expect(noted.end == nil)
            #expect(noted.backoff?.lost == world.clock.timestamp)
            #expect(world.provider.count(.token) == 2)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .signInRequired)
            #expect(
                error.message.contains("the response to an earlier refresh") && error.message.contains("never came"))
        }
    }

    @Test func `a lost response does no harm if the server has a grace period`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshTokenGracePeriod = 30
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            world.provider.fault(.lostResponse, at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) } != nil)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let record = await state.record
            #expect(record.backoff == nil)
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `if the store has no room for new tokens, nothing is sent`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            await store.fill()
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
            #expect(world.provider.count(.token) == 1)
            #expect(await !state.hasUnsavedTokens)
            // A valid token needs no store.
            _ = try await state.freshAccessToken()
        }
    }

    @Test func `if the store cannot be read, a token that is still valid is returned`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let token = try await state.freshAccessToken()
            await store.refuse(with: TestStore.Refusal())
            world.clock.advance(by: 3550)
            #expect(try await state.freshAccessToken() == token)
            #expect(world.log.lines.contains { $0.contains("the refresh failed") })
            world.clock.advance(by: 60)
            #expect(await authError { try await state.freshAccessToken() }?.code == .store)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `after a sign-out while the store makes room, nothing is sent`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            await store.holdPreparation()
            async let error = authError { try await state.freshAccessToken(forceRefresh: true) }
            try await waitUntil { await store.isPreparing }
            async let over: Void = state.forget()
            try await waitUntil { await state.savingCount == 1 }
            await store.releasePreparation()
            try await over
            #expect(await error?.code == .signInRequired)
            #expect(await store.record == nil)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `if the store has no room for new tokens, a token that is still valid is returned`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let token = try await state.freshAccessToken()
            world.clock.advance(by: 3550)
            let changes = state.changes
            await store.fill()
            #expect(try await state.freshAccessToken() == token)
            #expect(world.provider.count(.token) == 1)
            for await case .refreshFailed(let error) in changes {
                #expect(error.code == .store)
                break
            }
        }
    }
}
