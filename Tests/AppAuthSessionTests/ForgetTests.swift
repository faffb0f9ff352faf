import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// A session that has ended stays ended.
@Suite(.timeLimit(.minutes(5)))
struct ForgetTests {
    @Test func `forget() removes the session from memory and store`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            #expect(await state.isAuthorized)
            #expect(await state.claims?.subject == state.record.idToken?.subject)
            try await state.forget()
            #expect(await !state.isAuthorized)
            #expect(await store.record == nil)
            let record = await state.record
            #expect(record.accessToken == nil)
            #expect(record.refreshToken == nil)
            #expect(record.end?.reason == "signed out")
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(world.provider.count(.token) == 1)
            #expect(await store.deletions == 1)
        }
    }

    @Test func `a user who signs out may be asked to unlock the store`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let loads = await store.unattendedLoads
            try await state.signOut()
            #expect(await store.unattendedLoads == loads)
            #expect(await store.unattended == 0)
            #expect(await store.record == nil)
        }
    }

    @Test func `a late response restores nothing`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let hold = world.provider.hold(.token)
            let caller = Task { await authError { try await state.freshAccessToken(forceRefresh: true) } }
            try await hold.arrived()
            try await state.forget()
            let forgotten = await state.record
            hold.release()
            #expect(await caller.value?.code == .signInRequired)
            #expect(await state.record == forgotten)
            #expect(await store.record == nil)
            #expect(await store.saves == 1)
            // The tokens of the late response are revoked.
            #expect(world.provider.count(.revocation) == 2)
        }
    }

    @Test func `a response that is being stored meanwhile is removed again`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            await store.hold(after: 1)
            let caller = Task { await authError { try await state.freshAccessToken(forceRefresh: true) } }
            try await store.begun(2)
            let forgetting = Task { try await state.forget() }
            try await waitUntil { await state.savingCount == 1 }
            await store.release()
            try await forgetting.value
            #expect(await caller.value?.code == .signInRequired)
            #expect(await store.record == nil)
        }
    }

    @Test func `tokens refreshed between the revocation and the removal are revoked too`() async throws {
        for revokes in [true, false] {
            try await World.run { world in
                let store = TestStore()
                let state = try await world.signIn(store: store)
                let other = try #require(await AuthState(restoring: store, environment: world.environment))
                if revokes { await store.holdLoad() }
                let revoking = Task { revokes ? await state.revokeTokens() : [] }
                if revokes { try await store.loadIsHeld() }
                _ = try await other.freshAccessToken(forceRefresh: true)
                let newest = try #require(await store.record)
                await store.releaseLoad()
                #expect(await revoking.value.count == (revokes ? 2 : 0))
                try await state.forget()
                let sent = world.provider.log(.revocation).compactMap { $0.form["token"] }
                let tokens = [newest.refreshToken?.reveal(), newest.accessToken?.value.reveal()]
                #expect(sent.count == (revokes ? 4 : 0))
                #expect(sent.suffix(2) == (revokes ? tokens.compactMap(\.self)[...] : []))
                #expect(await store.record == nil)
            }
        }
    }

    /// Then both the store and memory have them.
    @Test func `tokens that the session has refreshed itself since the revocation are revoked once`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.status(.ok), at: .revocation, times: 2)
            #expect(await state.revokeTokens().count == 2)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let newest = try #require(await store.record)
            try await state.forget()
            let sent = world.provider.log(.revocation).compactMap { $0.form["token"] }
            #expect(sent.count == 4)
            #expect(Set(sent.suffix(2)) == [newest.refreshToken?.reveal(), newest.accessToken?.value.reveal()])
        }
    }

    @Test func `a store that rejects the removal is an error, and the next call tries again`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            await store.refuse(with: TestStore.Refusal())
            #expect(await authError { try await state.forget() }?.code == .store)
            #expect(await state.record.end != nil)
            #expect(await store.record != nil)
            await store.refuse(with: nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(await store.record == nil)
        }
    }

    @Test func `a write that fails meanwhile does not keep the session from being removed`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            await store.hold(after: 1)
            let caller = Task { await authError { try await state.freshAccessToken(forceRefresh: true) } }
            try await store.begun(2)
            await store.failHeld()
            let forgetting = Task { await authError { try await state.forget() } }
            try await waitUntil { await state.savingCount == 1 }
            await store.release()
            #expect(await forgetting.value == nil)
            #expect(await caller.value != nil)
            #expect(await store.record == nil)
        }
    }

    @Test func `a sign-out completes even if its caller is cancelled`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let caller = Task {
                while !Task.isCancelled { await Task.yield() }
                try await state.forget()
            }
            caller.cancel()
            try await caller.value
            #expect(await store.record == nil)
        }
    }

    @Test func `the work of a cancelled caller can be awaited`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            let hold = world.provider.hold(.token)
            let caller = Task { try await state.freshAccessToken(forceRefresh: true) }
            try await hold.arrived()
            caller.cancel()
            await #expect(throws: CancellationError.self) { try await caller.value }
            await state.settle(atMost: .milliseconds(1))
            #expect(await store.record?.refreshToken == before.refreshToken)
            hold.release()
            await state.settle(atMost: .seconds(60))
            // The rest of the response may still be in verification.
            let (stored, known) = await (store.record?.refreshToken, state.record.refreshToken)
            #expect(stored != before.refreshToken && stored == known)
        }
    }

    @Test func `a refresh that only waits for another's is not waited for`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let lock = try await store.refreshLock()
            let caller = Task { try await state.freshAccessToken(forceRefresh: true) }
            try await waitUntil { state.waitingCount >= 1 }
            caller.cancel()
            await #expect(throws: CancellationError.self) { try await caller.value }
            // As long as the lock is held, this would be the end of the limit.
            await state.settle(atMost: .seconds(3600))
            #expect(world.provider.count(.token) == 1)
            lock.release()
        }
    }
}
