import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// ID tokens as credentials. Those of the provider are valid for ten minutes, its access tokens for an hour.
@Suite(.timeLimit(.minutes(1)))
struct FreshIDTokenTests {
    @Test func `an ID token that is valid for long enough is returned without a request`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let first = try await state.freshIDToken()
            #expect(await state.record.idToken == first)
            world.clock.advance(by: 530)
            #expect(try await state.freshIDToken() == first)
            #expect(world.provider.count(.token) == 1)
            #expect(try await state.freshIDToken(minimumValidity: .seconds(100)) != first)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `callers that need a new one share a refresh, also in another process`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let other = try #require(await AuthState(restoring: store, environment: world.environment))
            let old = try await state.freshIDToken()
            world.clock.advance(by: 600)
            let hold = world.provider.hold(.token)
            let callers = [state, state, state, other, other].map { state in
                Task { try await state.freshIDToken().rawValue }
            }
            try await hold.arrived()
            // The access token is valid: its callers wait for nothing.
            _ = try await state.freshAccessToken()
            hold.release()
            var tokens: Set<Secret> = []
            for caller in callers { tokens.insert(try await caller.value) }
            #expect(tokens.count == 1 && !tokens.contains(old.rawValue))
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `one that another process has stored is used`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let other = try #require(await AuthState(restoring: store, environment: world.environment))
            world.clock.advance(by: 600)
            let token = try await other.freshIDToken()
            #expect(try await state.freshIDToken() == token)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `one that another process has stored, and that has expired since, is not used`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let other = try #require(await AuthState(restoring: store, environment: world.environment))
            world.clock.advance(by: 600)
            let expired = try await other.freshIDToken()
            world.clock.advance(by: 600)
            let token = try await state.freshIDToken()
            #expect(token != expired && token.expiration > world.clock.timestamp.wall)
            #expect(world.provider.count(.token) == 3)
            // The access token of the other process was valid all the time.
            #expect(try await other.freshIDToken() == token)
            #expect(world.provider.count(.token) == 3)
        }
    }

    /// How many seconds the clock of the issuer, or only that of a proxy before it, is ahead.
    @Test(arguments: [
        (0, false), (60, false), (-60, false), (3600, false), (-3600, false), (3600, true), (-3600, true),
    ])
    func `the clock of the issuer counts`(ahead: Double, isOfProxy: Bool) async throws {
        try await World.run(providerAhead: isOfProxy ? 0 : ahead) { world in
            let now = world.clock.timestamp.wall
            if isOfProxy {
                let date = (now + ahead).httpDate
                world.provider.fault(.editReply { $0.headers[.date] = date }, at: .token, times: nil)
            }
            let state = try await world.signIn()
            let (record, token) = (await state.record, try await state.freshIDToken())
            #expect(abs(record.expiry(of: token).timeIntervalSince(now) - 600) <= 1)
            #expect(world.provider.count(.token) == 1)
            world.clock.advance(by: 541)
            #expect(try await state.freshIDToken() != token)
            #expect(world.provider.count(.token) == 2)
        }
    }

    /// The time at which another machine has received a token is unknown.
    @Test func `machines that want a longer validity than the provider grants get what it issues`() async throws {
        try await World.run { world in
            let (store, clock) = (TestStore(), world.clock)
            let first = try await world.signIn(store: store)
            var others: [AuthState] = []
            for boot in ["second", "third"] {
                var environment = world.environment
                environment.now = {
                    Timestamp(wall: clock.timestamp.wall, sinceBoot: clock.timestamp.sinceBoot, boot: boot)
                }
                others.append(try #require(await AuthState(restoring: store, environment: environment)))
            }
            _ = try await first.freshIDToken(minimumValidity: .seconds(700))
            let hold = world.provider.hold(.token)
            let callers = [others[0], others[1]].map { state in
                Task { try await state.freshIDToken(minimumValidity: .seconds(700)) }
            }
            try await hold.arrived()
            try await waitUntil { others.allSatisfy { $0.waitingCount > 0 } }
            hold.release()
            for caller in callers { #expect(try await caller.value.expiration > clock.timestamp.wall) }
            #expect(world.provider.count(.token) <= 4)
        }
    }

    /// Two other machines refresh, one after the other, just before this one would. Their access tokens are valid.
    @Test(arguments: [(0, true), (599, true), (600, false), (700, false)] as [(Double, Bool)])
    func `what other machines have stored is returned until it expires`(age: Double, isReturned: Bool) async throws {
        try await World.run { world in
            let clock = world.clock
            let other = try await world.signIn()
            var records = [await other.record]
            for _ in 0..<2 {
                _ = try await other.freshAccessToken(forceRefresh: true)
                records.append(await other.record)
            }
            clock.advance(by: age)
            var environment = world.environment
            environment.now = {
                Timestamp(wall: clock.timestamp.wall, sinceBoot: clock.timestamp.sinceBoot, boot: "another")
            }
            let store = BusyStore(Array(records.dropFirst()))
            let state = AuthState(stored: records[0], store: store, environment: environment)
            do {
                let token = try await state.freshIDToken(minimumValidity: .seconds(700))
                #expect(isReturned && token == records[2].idToken)
            } catch let error as AuthError {
                #expect(!isReturned && error.code == .noIDToken, "\(error)")
            }
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test func `a provider that sends none at a refresh is reported, and the session goes on`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.sendsIDTokenOnRefresh = false
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            _ = try await state.freshIDToken()
            world.clock.advance(by: 600)
            let error = await authError { try await state.freshIDToken() }
            #expect(error?.code == .noIDToken && error?.needsSignIn == true && error?.isTemporary == false)
            _ = try await state.freshAccessToken()
            #expect(await state.isAuthorized)
        }
    }

    @Test func `without the scope openid nothing is sent`() async throws {
        try await World.run { world in
            let state = try await world.signIn(scope: [.profile, .offlineAccess])
            let error = await authError { try await state.freshIDToken() }
            #expect(error?.code == .noIDToken && error?.message.contains("openid") == true)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `the pauses after failures are respected, and a session that has ended has none`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.advance(by: 600)
            world.provider.fault(.status(.serviceUnavailable, [.retryAfter: "60"]), at: .token)
            for isHeldBack in [false, true] {
                let error = await authError { try await state.freshIDToken() }
                #expect(error?.isTemporary == true && error?.isHeldBack == isHeldBack)
            }
            #expect(world.provider.count(.token) == 2)
            world.clock.advance(by: 60)
            _ = try await state.freshIDToken()
            try await state.forget()
            #expect(await authError { try await state.freshIDToken() }?.code == .signInRequired)
        }
    }

    @Test func `one that the store has not accepted is not returned before it has`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.clock.advance(by: 600)
            let hold = world.provider.hold(.token, before: .response)
            let caller = Task { try await state.freshIDToken() }
            try await hold.arrived()
            await store.refuse(with: TestStore.Refusal())
            hold.release()
            #expect(await authError { try await caller.value }?.code == .store)
            #expect(await authError { try await state.freshIDToken() }?.code == .store)
            await store.refuse(with: nil)
            let token = try await state.freshIDToken()
            #expect(await store.record?.idToken == token && world.provider.count(.token) == 2)
        }
    }
}

/// A store to which other machines write: each read finds their next session.
private actor BusyStore: TokenStore {
    private var records: [AuthStateRecord]
    private let lock = TaskQueue()
    nonisolated let location = "a busy store"

    init(_ records: [AuthStateRecord]) { self.records = records }

    func load(_ call: TokenStoreCall) -> AuthStateRecord? { records.count > 1 ? records.removeFirst() : records.first }

    func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) throws -> Result {
        var record = records.first
        let result = try change(&record)
        records = [record].compactMap(\.self)
        return result
    }

    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await lock.refreshLock() }
}
