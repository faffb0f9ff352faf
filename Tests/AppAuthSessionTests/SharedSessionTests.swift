import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Several holders of one stored session, as several processes are.
@Suite(.timeLimit(.minutes(5)))
struct SharedSessionTests {
    /// Two states that share a file, and a provider that ends the family of a refresh token that is used twice.
    private func twoStates(
        _ configuration: LocalProvider.Configuration = .demo,
        _ test: (World, FileTokenStore, AuthState, AuthState) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shared-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = FileTokenStore(path: "\(folder)/session.json")
        try await World.run(configuration) { world in
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            try await test(world, store, first, second)
        }
    }

    @Test func `a lock is released once, however often that is asked for`() {
        let count = LockedValue(0)
        var lock: RefreshLock? = RefreshLock { count.withLock { $0 += 1 } }
        for _ in 0..<2 { lock?.release() }
        lock = nil
        #expect(count.withLock { $0 } == 1)
    }

    @Test func `the second process adopts the tokens of the first`() async throws {
        try await twoStates { world, _, first, second in
            world.clock.advance(by: 3600)
            let token = try await first.freshAccessToken()
            #expect(try await second.freshAccessToken() == token)
            #expect(world.provider.count(.token) == 2)
            #expect(await second.record == first.record)
        }
    }

    @Test func `two at the same time make one request`() async throws {
        try await twoStates { world, store, first, second in
            world.clock.advance(by: 3600)
            let hold = world.provider.hold(.token)
            async let one = first.freshAccessToken()
            try await hold.arrived()
            async let two = second.freshAccessToken()
            try await waitUntil { store.lockWaitingCount == 1 }
            // It is a lock of the kernel's, so another process would wait for it too.
            #expect(store.isBeingRefreshed)
            hold.release()
            #expect(try await one == two)
            #expect(world.provider.count(.token) == 2)
        }
    }

    /// The other process has stored its tokens, and is stopped before it gives up the lock.
    @Test func `a new stored token is returned while another caller waits for the lock`() async throws {
        try await twoStates { world, store, state, _ in
            world.clock.advance(by: 3600)
            let lock = try await store.refreshLock()
            let waiting = Task { try await state.freshAccessToken() }
            try await waitUntil { store.lockWaitingCount == 1 }
            try edit(store) { $0["lifetime"] = 36000 }
            let token = try await state.freshAccessToken(minimumValidity: .seconds(1))
            #expect(try await state.freshAccessToken() == token)
            #expect(state.waitingCount == 1)
            lock.release()
            #expect(try await waiting.value == token)
            #expect(world.provider.count(.token) == 1)
        }
    }

    /// It would read the store again in an hour.
    @Test func `a waiting caller wakes when the lock is released`() async throws {
        try await twoStates { world, store, _, _ in
            var environment = world.environment
            environment.lockPatience = LockPatience(pause: .seconds(3600), limit: .seconds(7200))
            let state = try #require(await AuthState(restoring: store, environment: environment))
            world.clock.advance(by: 3600)
            let lock = try await store.refreshLock()
            let waiting = Task { try await state.freshAccessToken() }
            try await waitUntil { store.lockWaitingCount == 1 }
            lock.release()
            _ = try await waiting.value
            #expect(world.provider.count(.token) == 2)
        }
    }

    /// Holds the lock while a state wants it, like a process that is stopped or cannot store its tokens.
    private func withLockHeld(
        since age: Double, patience: LockPatience, _ test: (WatchedStore, AuthState) async throws -> Void
    ) async throws {
        try await twoStates { world, store, _, _ in
            let watched = WatchedStore(base: store)
            var environment = world.environment
            environment.lockPatience = patience
            let state = try #require(await AuthState(restoring: watched, environment: environment))
            world.clock.advance(by: age)
            let lock = try await store.refreshLock()
            try await test(watched, state)
            #expect(world.provider.count(.token) == 1)
            lock.release()
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `tokens stored by the lock's holder are returned, even if it never releases the lock`() async throws {
        let patience = LockPatience(pause: .milliseconds(1), limit: .seconds(3600))
        try await withLockHeld(since: 3600, patience: patience) { store, state in
            let waiting = Task { try await state.freshAccessToken() }
            try await waitUntil { store.base.lockWaitingCount == 1 }
            try edit(store.base) { $0["lifetime"] = 36000 }
            let token = try await waiting.value
            #expect(token.lifetime == .seconds(36000))
        }
    }

    @Test func `a token that is still valid is returned if the lock's holder is slow`() async throws {
        let patience = LockPatience(pause: .milliseconds(1), limit: .seconds(3600))
        try await withLockHeld(since: 3590, patience: patience) { store, state in
            let before = await state.record.accessToken
            let token = try await state.freshAccessToken()
            #expect(token == before)
            // But not to a caller that cannot use it.
            let wanting = Task { try await state.freshAccessToken(forceRefresh: true) }
            try await waitUntil { store.base.lockWaitingCount == 1 }
            // That caller does not block the ones behind it.
            let next = try await state.freshAccessToken()
            #expect(next == before)
            // The remaining caller has read the store in vain.
            let reads = store.timedReads
            try await waitUntil { store.timedReads > reads + 1 }
            #expect(state.waitingCount == 1)
            wanting.cancel()
            await #expect(throws: CancellationError.self) { try await wanting.value }
        }
    }

    @Test func `a lock that is never released is an error in the end, and nothing is sent`() async throws {
        let patience = LockPatience(pause: .milliseconds(1), limit: .milliseconds(20))
        try await withLockHeld(since: 3600, patience: patience) { _, state in
            let error = try #require(await authError { try await state.freshAccessToken() })
            #expect(error.code == .store && error.outcome == .notSent && error.isTemporary)
            #expect(error.storeProblem == .busy && error.message.contains("process \(getpid()) ("), "\(error)")
            #expect(await state.record.end == nil)
        }
    }

    /// Each of its requests may take its whole time: for the provider's metadata, for its keys, and for the tokens.
    @Test func `the wait for the refresh of another process is longer than a slow refresh`() {
        #expect(LockPatience().limit >= HTTPLimits.default.total * 3)
    }

    /// A store that notes whether it is read for a caller that waits for it.
    private struct WatchedStore: TokenStore {
        let base: FileTokenStore
        let attended = LockedValue<[Bool]>([])
        /// How often it was read by a timer.
        var timedReads: Int { attended.withLock { $0.count { !$0 } } }

        var location: String { base.location }
        func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await base.refreshLock(call) }
        func refreshLockHolder() async -> String? { await base.refreshLockHolder() }
        func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
            attended.withLock { $0.append(!call.isUnattended) }
            return try await base.load(call)
        }
        func update<Result: Sendable>(
            _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
        ) async throws -> Result { try await base.update(call, change) }
    }

    @Test func `while a caller waits for the lock, the user is not asked to unlock the store`() async throws {
        try await twoStates { world, store, _, _ in
            let watched = WatchedStore(base: store)
            var environment = world.environment
            environment.lockPatience = LockPatience(pause: .milliseconds(1), limit: .seconds(3600))
            let state = try #require(await AuthState(restoring: watched, environment: environment))
            world.clock.advance(by: 3600)
            let lock = try await store.refreshLock()
            let waiting = Task { try await state.freshAccessToken() }
            try await waitUntil { watched.timedReads >= 3 }
            // At the restoration, and when the caller came.
            #expect(watched.attended.withLock { $0.count { $0 } } == 2)
            lock.release()
            _ = try await waiting.value
        }
    }

    /// Edits the stored access token.
    private func edit(_ store: FileTokenStore, _ change: (inout [String: Any]) -> Void) throws {
        let file = URL(fileURLWithPath: store.path)
        var record = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
        var token = try #require(record["accessToken"] as? [String: Any])
        change(&token)
        record["accessToken"] = token
        try JSONSerialization.data(withJSONObject: record).write(to: file)
    }

    @Test func `a forced refresh is shared with all callers that began before it ended`() async throws {
        try await twoStates { world, store, first, second in
            let hold = world.provider.hold(.token)
            async let one = first.freshAccessToken(forceRefresh: true)
            try await hold.arrived()
            let seen = try await second.freshAccessToken()
            async let two = second.freshAccessToken(forceRefresh: true)
            try await waitUntil { store.lockWaitingCount == 1 }
            hold.release()
            let tokens = try await (one, two)
            #expect(tokens.0 == tokens.1 && tokens.0 != seen)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a dead refresh token that another has replaced in the meantime ends nothing`() async throws {
        try await twoStates { world, store, first, second in
            world.clock.advance(by: 3600)
            // The second holds the session as it was, without looking at the store again: as a copy from a backup does.
            let old = await second.record
            let token = try await first.freshAccessToken()
            let stale = AuthState(
                stored: old, store: StaleStore(stale: old, store: store), environment: world.environment)
            world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
            #expect(try await stale.freshAccessToken() == token)
            #expect(await stale.record.end == nil)
        }
    }

    @Test func `a session that another has signed out is over; its late response is dropped and revoked`() async throws
    {
        try await twoStates { world, store, first, second in
            world.clock.advance(by: 3600)
            let hold = world.provider.hold(.token)
            let caller = Task { await authError { try await first.freshAccessToken() } }
            try await hold.arrived()
            try await second.forget()
            hold.release()
            let error = try #require(await caller.value)
            #expect(error.code == .signInRequired && error.message.contains("signed out"))
            #expect(try await store.load() == nil)
            #expect(world.provider.count(.revocation) == 2)
            #expect(await authError { try await first.freshAccessToken() }?.code == .signInRequired)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `once a process learns that the session ended, it returns no token from memory`() async throws {
        try await twoStates { world, store, first, second in
            let record = await first.record
            let changes = first.changes
            try await second.forget()
            // It has not learnt of it yet.
            _ = try await first.freshAccessToken()
            #expect(await authError { try await first.freshAccessToken(forceRefresh: true) }?.code == .signInRequired)
            #expect(await authError { try await first.freshAccessToken() }?.code == .signInRequired)
            #expect(world.provider.count(.token) == 1)
            for await case .ended(let end) in changes {
                #expect(end.reason.contains("signed out"))
                break
            }
            // A folder that was away for a while, and is there again.
            try await store.replace(with: record)
            _ = try await first.freshAccessToken()
        }
    }

    @Test func `a session is restored with the current client, and stays signed out`() async throws {
        try await twoStates { world, store, first, _ in
            let old = await first.record.client
            let client = Client(id: old.id, authentication: .clientSecretPost(Secret("new")), provider: old.provider)
            let state = try #require(
                await AuthState(restoring: store, as: client, environment: world.environment))
            #expect(await state.record.client == client)
            try await first.forget()
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .signInRequired)
            #expect(try await store.load() == nil)
        }
    }

    @Test func `a session of another client or issuer is not restored`() async throws {
        try await twoStates { world, store, first, _ in
            let own = await first.record.client
            let elsewhere = try ProviderMetadata(issuer: "https://op.example", endpoints: [:])
            for client in [Client(id: "other", provider: own.provider), Client(id: own.id, provider: elsewhere)] {
                let error = await authError {
                    try await AuthState(restoring: store, as: client, environment: world.environment)
                }
                #expect(error?.code == .invalidConfiguration)
                #expect(error?.message.contains("'demo'") == true && error?.message.contains(client.id) == true)
            }
            let state = try await AuthState(restoring: store, as: own, environment: world.environment)
            #expect(state != nil)
        }
    }

    @Test func `an imported session is usable before it is stored, and is stored with its first change`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            let store = TestStore()
            let state = try await AuthState(record: record, store: store, environment: world.environment)
            world.clock.advance(by: 3590)
            world.provider.fault(.status(.internalServerError), at: .token)
            _ = try await state.freshAccessToken()
            world.clock.advance(by: 1)
            _ = try await state.freshAccessToken()
            #expect(await store.record?.id == record.id)
        }
    }

    @Test func `a new sign-in is not affected by late events of the old one`() async throws {
        try await twoStates { world, store, first, second in
            world.clock.advance(by: 3600)
            // Without an ID token, the session's user is unknown.
            let record = try await world.signIn(scope: [.offlineAccess]).record
            let hold = world.provider.hold(.token)
            let caller = Task { await authError { try await first.freshAccessToken() } }
            try await hold.arrived()
            try await store.replace(with: record)
            hold.release()
            let error = try #require(await caller.value)
            #expect(error.code == .sessionReplaced && error.message.contains("another sign-in"))
            #expect(try await store.load() == record)
            try await second.forget()
            #expect(try await store.load() == record)
            let new = try #require(await AuthState(restoring: store, environment: world.environment))
            _ = try await new.freshAccessToken(forceRefresh: true)
        }
    }
}

/// A store whose first reads and changes see an earlier session.
private actor StaleStore: TokenStore {
    private var stale: AuthStateRecord?
    private var reads = 2
    let store: FileTokenStore
    nonisolated var location: String { "stale store" }

    init(stale: AuthStateRecord, store: FileTokenStore) { (self.stale, self.store) = (stale, store) }

    func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        reads -= 1
        return reads >= 0 ? stale : try await store.load(call)
    }

    func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result {
        reads -= 1
        guard reads >= 0 else { return try await store.update(call, change) }
        return try change(&stale)
    }

    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await store.refreshLock(call) }
}
