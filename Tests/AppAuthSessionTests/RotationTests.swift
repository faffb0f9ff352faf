import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import JOSE
import TestFixtures
import Testing

/// A rotated refresh token is stored before its response is verified: that may take minutes, and the process
/// may not live so long.
@Suite(.timeLimit(.minutes(5)))
struct RotationTests {
    /// A refresh whose ID token is signed with a key that has to be fetched, at the moment in which the provider is asked for
    /// it.
    ///
    /// - Parameter isForged: Whether the signature is wrong.
    private func whileKeysAreFetched(
        refusing refusal: TestStore.Refusal? = nil, isForged: Bool = false,
        _ body: (World, TestStore, AuthState, _ before: AuthStateRecord, Task<AccessToken, any Error>, Hold)
            async throws
            -> Void
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            try world.provider.rotateSigningKeys()
            try world.provider.withdrawOldSigningKeys()
            let hold = world.provider.hold(.keys, before: .request)
            if let refusal { await store.refuse(with: refusal, after: 1) }
            if isForged {
                world.provider.fault(
                    .editDocument { document in
                        let parts = document["id_token"]?.string?.split(separator: ".") ?? []
                        document["id_token"] = .string((parts.dropLast() + [parts[1]]).joined(separator: "."))
                    }, at: .token)
            }
            let caller = Task { try await state.freshAccessToken(forceRefresh: true) }
            try await hold.arrived()
            try await body(world, store, state, before, caller, hold)
        }
    }

    @Test func `while the keys are fetched the store has the new refresh token, and nothing else that is new`()
        async throws
    {
        try await whileKeysAreFetched { world, store, state, before, caller, hold in
            let stored = try #require(await store.record)
            let rotated = try #require(stored.refreshToken)
            #expect(rotated != before.refreshToken && world.provider.isAlive(rotated.reveal()))
            #expect(stored.accessToken == before.accessToken && stored.idToken == before.idToken)
            // A process that ends now loses nothing, and need not wait.
            await state.settle(atMost: .seconds(3600))
            hold.release()
            let token = try await caller.value
            let after = try #require(await store.record)
            #expect(after.accessToken == token && after.refreshToken == rotated)
            #expect(await store.saves == 3)
        }
    }

    @Test func `a process that resumes the refresh of a dead one keeps the session`() async throws {
        try await whileKeysAreFetched { world, store, _, _, caller, hold in
            // The record that a process finds after a crash.
            let left = TestStore(await store.record)
            let next = try #require(await AuthState(restoring: left, environment: world.environment))
            hold.release()
            _ = try await caller.value
            _ = try await next.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `if the store rejects the early refresh token, it gets the whole response after verification`()
        async throws
    {
        try await whileKeysAreFetched(refusing: TestStore.Refusal()) { world, store, state, before, caller, hold in
            #expect(await store.record?.refreshToken == before.refreshToken)
            await store.refuse(with: nil)
            // Only this process has the new token: it is waited for.
            let settled = Task { await state.settle(atMost: .seconds(3600)) }
            hold.release()
            let token = try await caller.value
            await settled.value
            #expect(await store.record?.accessToken == token)
            #expect(await store.record?.refreshToken != before.refreshToken)
        }
    }

    @Test func `a read of the store replaces an access token that only memory has`() async throws {
        try await whileKeysAreFetched { world, store, state, before, caller, hold in
            await store.refuse(with: TestStore.Refusal())
            hold.release()
            let token = try await caller.value
            #expect(try await state.freshAccessToken() == token)
            await store.refuse(with: nil)
            try await state.synchronize()
            #expect(await state.record == store.record)
            // Both are valid. After a rejection, the next caller gets neither.
            state.reject(try await state.freshAccessToken())
            let next = try await state.freshAccessToken()
            #expect(next != token && next != before.accessToken)
            #expect(await store.record?.accessToken == next)
        }
    }

    @Test func `if only the record of a failed verification is rejected, no lock is kept for it`() async throws {
        try await whileKeysAreFetched(isForged: true) { world, store, state, before, caller, hold in
            await store.refuse(with: TestStore.Refusal())
            hold.release()
            let error = await authError { try await caller.value }
            #expect(error != nil && error?.code != .store)
            #expect(await state.hasUnsavedTokens == false)
            let rotated = try #require(await store.record?.refreshToken)
            #expect(rotated != before.refreshToken)
            await store.refuse(with: nil)
            // Another process need not wait.
            try await store.refreshLock().release()
        }
    }

    @Test func `a sign-out while the keys are fetched is final, and the new tokens are revoked`() async throws {
        try await whileKeysAreFetched { world, store, state, _, caller, hold in
            let rotated = try #require(await store.record?.refreshToken)
            try await state.forget()
            hold.release()
            #expect(await authError { try await caller.value }?.code == .signInRequired)
            #expect(await store.record == nil)
            #expect(!world.provider.isAlive(rotated.reveal()))
        }
    }

    @Test func `without an ID token the response is stored at once`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.editDocument { $0["id_token"] = nil }, at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await store.saves == 2)
        }
    }
}
