import AppAuth
import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import Testing
import TestFixtures

@testable import AppAuthProtocol
@testable import AppAuthSession

/// A refresh lock that can pass to another holder while its holder does not notice, such as one of a database.
struct LostLockTests {
    /// A store whose lock can be lost, and whose session another holder may change before a write.
    private struct Store: TokenStore {
        let base: TestStore
        let isHeld = LockedValue(true)
        /// The grants that the changes were made under.
        let grants = LockedValue<[Int?]>([])
        let releases = LockedValue(0)
        /// A session that another holder stores before this many further changes under the lock.
        let newer = LockedValue<(record: AuthStateRecord, changes: Int)?>(nil)

        var location: String { base.location }
        func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? { try await base.load(call) }
        func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock {
            let lock = try await base.refreshLock(call)
            return RefreshLock(grant: 7, isHeld: { [isHeld] in isHeld.withLock { $0 } }) { [releases] in
                releases.withLock { $0 += 1 }
                lock.release()
            }
        }
        func update<Result: Sendable>(
            _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
        ) async throws -> Result {
            grants.withLock { $0.append(call.grant as? Int) }
            let due = newer.withLock { newer -> AuthStateRecord? in
                newer?.changes -= 1
                return newer?.changes == 0 ? newer?.record : nil
            }
            if let due { await base.put(due) }
            return try await base.update(call, change)
        }
    }

    private static let bob = LocalProvider.User(name: "bob", password: "builder")

    /// Runs a test with a session whose token has expired, at a provider that accepts a used refresh token for an hour.
    private func withSession(_ test: (World, Store, AuthState) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshTokenGracePeriod = 3600
        configuration.users.append(Self.bob)
        try await World.run(configuration) { world in
            let store = Store(base: TestStore())
            let state = try await world.signIn(store: store)
            world.clock.advance(by: 3600)
            store.grants.withLock { $0 = [] }
            try await test(world, store, state)
        }
    }

    @Test(arguments: [true, false])
    func `the refresh token is sent only while the lock is held`(isHeld: Bool) async throws {
        try await withSession { world, store, state in
            let sent = world.provider.count(.token)
            store.isHeld.withLock { $0 = isHeld }
            let error = await authError { try await state.freshAccessToken() }
            #expect(error?.code == (isHeld ? nil : .store) && error?.isTemporary ?? true)
            #expect(world.provider.count(.token) == sent + (isHeld ? 1 : 0))
            // The session is as it was, and the next refresh finds a lock.
            store.isHeld.withLock { $0 = true }
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == sent + 1)
        }
    }

    @Test func `the changes of a refresh name their lock, and a sign-out has none`() async throws {
        try await withSession { world, store, state in
            _ = try await state.freshAccessToken()
            let grants = store.grants.withLock { $0 }
            #expect(!grants.isEmpty && grants.allSatisfy { $0 == 7 }, "\(grants)")
            #expect(store.releases.withLock { $0 } == 1)
            try await state.signOut()
            #expect(store.grants.withLock { $0.last } == .some(nil))
        }
    }

    @Test func `a response that comes after the next holder's does not replace its tokens`() async throws {
        try await withSession { world, store, state in
            let other = try await AuthState(
                record: await state.record, store: MemoryTokenStore(), environment: world.environment)
            let token = try await other.freshAccessToken()
            let newer = await other.record
            store.newer.withLock { $0 = (newer, 1) }
            #expect(try await state.freshAccessToken() == token)
            #expect(await store.base.record?.refreshToken == newer.refreshToken)
        }
    }

    /// How a session ends while its refresh token is on its way.
    enum End: CaseIterable {
        case isMissing, isReplaced, hasEnded, isSignedOutHere
    }

    @Test(arguments: End.allCases)
    func `late tokens of a session that is over are revoked`(end: End) async throws {
        try await withSession { world, store, state in
            let response = try await world.authorize(try await world.client(), as: Self.bob)
            let other = try await AuthState.exchange(
                response, store: MemoryTokenStore(), environment: world.environment
            ).record
            let hold = world.provider.hold(.token)
            let caller = Task { await authError { try await state.freshAccessToken() } }
            try await hold.arrived()
            switch end {
            case .isMissing: await store.base.put(nil)
            case .isReplaced: await store.base.put(other)
            case .hasEnded:
                var record = await state.record
                record.end("the provider has ended it", at: world.clock.now)
                await store.base.put(record)
            case .isSignedOutHere: try await state.forget()
            }
            hold.release()
            #expect(await caller.value?.code == (end == .isReplaced ? .sessionReplaced : .signInRequired))
            await state.settle()
            #expect(world.provider.count(.revocation) == 2)
        }
    }
}
