import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import TestFixtures
import Testing

/// New tokens that the store has rejected so far.
@Suite(.timeLimit(.minutes(5)))
struct UnsavedTests {
    /// Lets the test end the pause before the next attempt.
    private struct Ticks: Sendable {
        private let stream: AsyncStream<Void>
        private let continuation: AsyncStream<Void>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func tick() { continuation.yield() }

        /// Ends all waits: a timer that waits for ever would keep its session in memory.
        func end() { continuation.finish() }

        func wait() async throws {
            for await _ in stream { return }
            throw CancellationError()
        }
    }

    /// A session whose pauses the test ends.
    private func withSession(_ body: (World, TestStore, AuthState, Ticks) async throws -> Void) async throws {
        try await World.run { world in
            let (store, ticks) = (TestStore(), Ticks())
            defer { ticks.end() }
            var environment = world.environment
            environment.sleep = { _ in try await ticks.wait() }
            _ = try await world.signIn(store: store)
            try await body(world, store, #require(await AuthState(restoring: store, environment: environment)), ticks)
        }
    }

    private func withRefusedTokens(
        _ body: (World, TestStore, AuthState, _ before: AuthStateRecord, Ticks) async throws -> Void
    ) async throws {
        try await withSession { world, store, state, ticks in
            let before = await state.record
            await store.refuse(with: TestStore.Refusal(), after: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
            #expect(await state.hasUnsavedTokens)
            await store.refuse(with: nil)
            try await body(world, store, state, before, ticks)
        }
    }

    @Test func `unsaved tokens are stored after a while without a call`() async throws {
        try await withRefusedTokens { _, store, state, before, ticks in
            ticks.tick()
            try await waitUntil { await !state.hasUnsavedTokens }
            let stored = try #require(await store.record)
            #expect(await stored == state.record && stored.refreshToken != before.refreshToken)
            #expect(await store.unattended == 1)
        }
    }

    @Test func `so are those that the store rejects later`() async throws {
        try await withRefusedTokens { _, store, state, _, ticks in
            for isLast in [false, true] {
                ticks.tick()
                try await waitUntil { await !state.hasUnsavedTokens }
                #expect(await store.record == state.record)
                guard !isLast else { break }
                await store.refuse(with: TestStore.Refusal(), after: 1)
                #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
                await store.refuse(with: nil)
            }
        }
    }

    @Test func `a sign-out that the store has rejected is stored after a while without a call`() async throws {
        try await withSession { _, store, state, ticks in
            await store.refuse(with: TestStore.Refusal())
            #expect(await authError { try await state.forget() }?.code == .store)
            await store.refuse(with: nil)
            #expect(await store.record != nil)
            ticks.tick()
            try await waitUntil { await store.record == nil }
        }
    }

    @Test func `an unusable response is reported even if the store rejects its refresh token`() async throws {
        try await withSession { world, store, state, _ in
            let changes = state.changes
            world.provider.fault(.editDocument { $0["access_token"] = nil }, at: .token)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .invalidResponse)
            #expect(await state.hasUnsavedTokens)
            await store.refuse(with: nil)
            try await state.forget()
            for await change in changes {
                guard case .refreshFailed(let reported) = change else { return #expect(Bool(false), "\(change)") }
                #expect(reported.message == error?.message)
                break
            }
        }
    }

    @Test func `the old refresh token is not presented while the new one is unsaved`() async throws {
        try await withRefusedTokens { world, store, first, _, _ in
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            let waiting = Task { try await second.freshAccessToken(forceRefresh: true) }
            try await waitUntil { store.lockWaitingCount == 1 }
            #expect(world.provider.count(.token) == 2)
            let token = try await first.freshAccessToken()
            #expect(await !first.hasUnsavedTokens)
            #expect(try await waiting.value == token)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `they are tried again after 1 s, 2 s, 4 s, and at last each minute`() async throws {
        try await World.run { world in
            let (store, ticks) = (TestStore(), Ticks())
            let (pauses, paused) = AsyncStream.makeStream(of: Duration.self)
            var environment = world.environment
            environment.sleep = {
                paused.yield($0)
                try await ticks.wait()
            }
            _ = try await world.signIn(store: store)
            let state = try #require(await AuthState(restoring: store, environment: environment))
            await store.refuse(with: TestStore.Refusal(), after: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
            var found: [Duration] = []
            for await pause in pauses {
                found.append(pause)
                guard found.count < 9 else { break }
                ticks.tick()
            }
            #expect(found == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
            await store.refuse(with: nil)
            try await state.forget()
            ticks.tick()
        }
    }

    @Test func `a store may prompt the user only while a caller waits for the tokens`() async throws {
        try await withRefusedTokens { _, store, state, _, ticks in
            await store.refuse(with: TestStore.Refusal())
            #expect(await authError { try await state.freshAccessToken() }?.code == .store)
            #expect(await store.unattended == 0)
            ticks.tick()
            try await waitUntil { await store.unattended != 0 }
            #expect(await authError { try await state.freshAccessToken() }?.code == .store)
            await store.refuse(with: nil)
            _ = try await state.freshAccessToken()
            #expect(await store.unattended == 1)
        }
    }

    @Test func `an earlier read does not replace unsaved tokens`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            let hold = world.provider.hold(.token)
            let forced = Task { await authError { try await state.freshAccessToken(forceRefresh: true) } }
            try await hold.arrived()
            await store.holdLoad()
            let narrow = Task { try await state.freshAccessToken(parameters: TokenParameters(scope: [.openID])) }
            try await store.loadIsHeld()
            await store.refuse(with: TestStore.Refusal())
            hold.release()
            await store.releaseLoad()
            #expect(await forced.value?.code == .store)
            let unsaved = await state.record
            #expect(unsaved.refreshToken != before.refreshToken)
            await #expect(throws: AuthError.self) { try await narrow.value }
            #expect(await state.record == unsaved)
            await store.refuse(with: nil)
        }
    }

    @Test func `a caller that joins a failed background attempt makes its own`() async throws {
        try await withRefusedTokens { _, store, state, _, ticks in
            let saves = await store.saves
            await store.hold()
            await store.failHeld()
            ticks.tick()
            try await store.begun(saves + 1)
            async let token = state.freshAccessToken()
            // It waits for the attempt that is under way.
            try await waitUntil { await state.savingCount == 2 }
            await store.release()
            let got = try await token
            #expect(await got == state.record.accessToken)
            #expect(await store.unattended == 1)
        }
    }

    @Test func `unsaved tokens are stored even after the app releases the session`() async throws {
        try await World.run { world in
            let (store, ticks) = (TestStore(), Ticks())
            var environment = world.environment
            environment.sleep = { _ in try await ticks.wait() }
            _ = try await world.signIn(store: store)
            let (before, requests) = (await store.record, world.provider.count(.token))
            let session = StoredSession(in: store, environment: environment)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            let error = await authError { try await session.use { try await $0.freshAccessToken(forceRefresh: true) } }
            #expect(error?.code == .store)
            await store.refuse(with: nil)
            let next = Task { try await session.use { try await $0.freshAccessToken(forceRefresh: true) } }
            try await waitUntil { store.lockWaitingCount == 1 }
            ticks.tick()
            let token = try await next.value
            #expect(await store.record?.accessToken == token)
            #expect(await store.record?.refreshToken != before?.refreshToken)
            #expect(world.provider.count(.token) == requests + 1)
        }
    }

    @Test func `a revoking sign-out also revokes unsaved tokens`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            for _ in 0..<2 { world.provider.fault(.unavailable(retryAfter: 1), at: .revocation) }
            #expect(await state.revokeTokens().compactMap(\.error).count == 2)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
            let tokens = await [state.record.refreshToken, state.record.accessToken?.value]
            await store.refuse(with: nil)
            try await state.forget()
            let sent = world.provider.log(.revocation).compactMap { $0.form["token"] }
            #expect(sent.suffix(2) == tokens.compactMap { $0?.reveal() }[...] && sent.count == 4)
            #expect(await store.record == nil)
        }
    }

    /// At several providers, revoking the old token would also end the new session.
    @Test(arguments: [true, false])
    func `a sign-out that is stored late revokes nothing of a session that another one has replaced`(
        isReplaced: Bool
    ) async throws {
        try await withSession { world, store, state, _ in
            for _ in 0..<2 { world.provider.fault(.unavailable(retryAfter: 1), at: .revocation) }
            #expect(await state.revokeTokens().compactMap(\.error).count == 2)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .store)
            #expect(await authError { try await state.forget() }?.code == .store)
            await store.refuse(with: nil)
            let other = isReplaced ? await (try world.signIn(scope: [.offlineAccess])).record : nil
            if isReplaced { await store.put(other) }
            let revocations = world.provider.count(.revocation)
            await state.settle(atMost: .seconds(60))
            #expect(await store.record == other)
            #expect(world.provider.count(.revocation) == revocations + (isReplaced ? 0 : 2))
        }
    }

    @Test func `a sign-out during the write revokes unsaved tokens and reports none`() async throws {
        try await withRefusedTokens { world, store, state, _, ticks in
            let (token, saves) = (try #require(await state.record.refreshToken), await store.saves)
            await store.hold()
            ticks.tick()
            try await store.begun(saves + 1)
            async let over: Void = state.forget()
            try await waitUntil { await state.savingCount == 2 }
            await store.release()
            try await over
            #expect(!world.provider.isAlive(token.reveal()))
            #expect(await store.record == nil)
            #expect(!world.log.lines.contains { $0.contains("there are new tokens") })
        }
    }

    @Test func `tokens that expire while the store rejects them are not reported`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let saves = await store.saves
            await store.hold(after: 2)
            await store.failHeld()
            async let error = authError { try await state.freshAccessToken(forceRefresh: true) }
            try await store.begun(saves + 2)
            world.clock.advance(by: 3600)
            await store.release()
            #expect(await error?.code == .store)
            #expect(!world.log.lines.contains { $0.contains("there are new tokens") })
            #expect(world.log.lines.contains { $0.contains("new tokens are not stored") })
        }
    }

    @Test(arguments: [true, false])
    func `unsaved tokens are dropped if the stored session is removed or replaced`(isReplaced: Bool) async throws {
        try await withRefusedTokens { world, store, state, _, ticks in
            // Without an ID token, the session's user is unknown.
            let other = isReplaced ? await (try world.signIn(scope: [.offlineAccess])).record : nil
            await store.put(other)
            let (changes, revocations) = (state.changes, world.provider.count(.revocation))
            ticks.tick()
            try await waitUntil { await !state.hasUnsavedTokens }
            let code = await authError { try await state.freshAccessToken() }?.code
            #expect(code == (isReplaced ? .sessionReplaced : .signInRequired))
            #expect(await store.record == other)
            for await change in changes {
                if case .ended = change { break }
                Issue.record("expected the end of the session, found \(change)")
            }
            await state.settle(atMost: .seconds(60))
            // At several providers, revoking the old token would also end the new session.
            #expect(world.provider.count(.revocation) == revocations + (isReplaced ? 0 : 2))
        }
    }

    @Test func `a sign-out revokes the unsaved tokens`() async throws {
        try await withRefusedTokens { world, store, state, before, _ in
            let record = await state.record
            #expect(record.refreshToken != before.refreshToken)
            #expect(await state.revokeTokens().map(\.error) == [nil, nil])
            #expect(await state.record.refreshToken == record.refreshToken)
            #expect(!world.provider.isAlive(try #require(record.accessToken).value.reveal()))
            try await state.forget()
            #expect(await store.record == nil)
        }
    }

    @Test(arguments: [false, true])
    func `after a sign-out during the write, the previous refresh token is not presented`(
        isRefused: Bool
    ) async throws {
        try await withRefusedTokens { _, store, state, before, ticks in
            await store.hold()
            if isRefused { await store.failHeld() }
            let saves = await store.saves
            ticks.tick()
            try await store.begun(saves + 1)
            let other = Task {
                let lock = try await store.refreshLock()
                defer { lock.release() }
                return await store.record?.refreshToken
            }
            try await waitUntil { store.lockWaitingCount == 1 }
            let leaving = Task { try await state.forget() }
            // The sign-out waits for the attempt that is under way.
            try await waitUntil { await state.savingCount == 2 }
            await store.release()
            try await leaving.value
            let found = try await other.value
            #expect(isRefused || found != before.refreshToken)
            #expect(await store.record == nil)
        }
    }

    @Test func `settle() makes an attempt of its own if one that had begun fails`() async throws {
        try await withRefusedTokens { _, store, state, before, _ in
            let saves = await store.saves
            await store.hold()
            await store.failHeld()
            let caller = Task { try await state.freshAccessToken() }
            try await store.begun(saves + 1)
            let settled = Task { await state.settle(atMost: .seconds(60)) }
            try await waitUntil { await state.savingCount == 2 }
            await store.release()
            #expect(await authError { try await caller.value }?.code == .store)
            await settled.value
            #expect(await !state.hasUnsavedTokens)
            #expect(await store.record?.refreshToken != before.refreshToken)
        }
    }

    @Test func `settle() makes one more attempt to store the tokens`() async throws {
        try await withRefusedTokens { _, store, state, before, _ in
            await state.settle(atMost: .seconds(60))
            #expect(await !state.hasUnsavedTokens)
            #expect(await store.record?.refreshToken != before.refreshToken)
        }
    }

    @Test func `the refresh token of an unusable response is stored too`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(.editDocument { $0["token_type"] = "mac" }, at: .token)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .invalidResponse)
            #expect(await state.hasUnsavedTokens)
            await store.refuse(with: nil)
            #expect(world.provider.isAlive(try await state.freshAccessToken(forceRefresh: true).value.reveal()))
        }
    }
}
