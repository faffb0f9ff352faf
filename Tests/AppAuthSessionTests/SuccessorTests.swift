import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import JOSE
import TestFixtures
import Testing

/// A session whose user signs in again in another process, with the same store.
@Suite(.timeLimit(.minutes(5)))
struct SuccessorTests {
    private func signInAgain(
        scope: [Scope] = [.openID, .profile, .offlineAccess], dpop: DPoPAlgorithm? = nil,
        _ body: (World, TestStore, AuthState, _ new: AuthStateRecord) async throws -> Void
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let client = Client(id: "demo", provider: try await world.metadata(), dpop: dpop)
            let state = try await world.signIn(client, store: store)
            let new = try await world.signIn(client, scope: scope).record
            world.clock.advance(by: 3600)
            try await body(world, store, state, new)
        }
    }

    @Test func `after the same user signs in again, callers get the new session's token`() async throws {
        try await signInAgain { world, store, state, new in
            let changes = state.changes
            await store.put(new)
            world.clock.advance(by: -3600)
            let token = try await state.freshAccessToken(forceRefresh: true)
            #expect(await store.record?.id == new.id)
            #expect(token.value == new.accessToken?.value)
            #expect(await state.record.id == new.id)
            for await change in changes {
                guard case .renewed = change else { Issue.record("found \(change)"); break }
                break
            }
            world.clock.advance(by: 7200)
            _ = try await state.freshAccessToken()
            #expect(await store.record?.id == new.id)
            try await state.forget()
            #expect(await store.record == nil)
        }
    }

    @Test func `a sign-in of the same user with another profile is another session`() async throws {
        try await signInAgain { world, store, state, new in
            var json = try #require(try JSON(parsing: new.encoded()).object)
            json["profile"] = "another"
            await store.put(try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "a test"))
            let error = await authError { try await state.freshAccessToken() }
            #expect(error?.code == .sessionReplaced)
            #expect(world.provider.count(.token) == 2)
        }
    }

    // OpenID Connect Back-Channel Logout §2.7
    @Test(arguments: [true, false])
    func `the provider's logout ends the later session, if it names that one`(isNamed: Bool) async throws {
        try await signInAgain { _, store, state, new in
            await store.put(new)
            let unattended = await store.unattendedLoads
            let hasEnded = try await state.endByProvider { ($0 == new.idToken) == isNamed }
            #expect(hasEnded)
            // The user may be asked to unlock the store.
            #expect(await store.unattendedLoads == unattended)
            #expect(await (store.record == nil) == isNamed)
            #expect(await state.isAuthorized == isNamed)
        }
    }

    @Test func `a refresh overtaken by a new sign-in returns the new session's token`() async throws {
        try await signInAgain { world, store, state, new in
            let hold = world.provider.hold(.token)
            let caller = Task { try await state.freshAccessToken() }
            try await hold.arrived()
            await store.put(new)
            hold.release()
            let token = try await caller.value
            let stored = try #require(await store.record)
            #expect(stored.id == new.id && stored.accessToken == token)
            #expect(world.provider.isAlive(token.value.reveal()))
            #expect(world.provider.count(.revocation) == 0)
        }
    }

    @Test func `the new session's key proves its tokens`() async throws {
        try await signInAgain(dpop: .es256) { world, store, state, new in
            let old = state.proof?.key
            await store.put(new)
            _ = try await state.freshAccessToken()
            #expect(state.proof?.key == new.proofKey && state.proof?.key != old)
            _ = try await state.userInfo()
        }
    }

    @Test func `if the new session has no key, its tokens are sent without a proof`() async throws {
        try await World.run { world in
            let store = TestStore()
            let metadata = try await world.metadata()
            let state = try await world.signIn(Client(id: "demo", provider: metadata, dpop: .es256), store: store)
            await store.put(try await world.signIn(Client(id: "demo", provider: metadata)).record)
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            #expect(state.proof == nil)
            _ = try await state.userInfo()
        }
    }

    @Test func `a session that may belong to another user is not adopted`() async throws {
        try await signInAgain(scope: [.offlineAccess]) { world, store, state, new in
            await store.put(new)
            let error = try #require(await authError { try await state.freshAccessToken() })
            #expect(error.code == .sessionReplaced && error.message.contains("restore the session from the store"))
            #expect(await store.record == new)
            #expect(await state.record.id != new.id)
        }
    }

    @Test func `a sign-out of the session of before revokes nothing, and leaves the new one`() async throws {
        try await signInAgain { world, store, state, new in
            await store.put(new)
            #expect(await state.revokeTokens().isEmpty)
            try await state.forget()
            #expect(world.provider.count(.revocation) == 0)
            #expect(await store.record == new)
            let next = try #require(await AuthState(restoring: store, environment: world.environment))
            _ = try await next.freshAccessToken(forceRefresh: true)
        }
    }
}
