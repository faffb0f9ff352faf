import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

private struct Weak { weak var state: AuthState? }

/// A session of which nothing is kept in memory.
struct StoredSessionTests {
    @Test func `each use reads the store, and nothing is kept`() async throws {
        try await World.run { world in
            let store = TestStore(try await world.signIn().record)
            let session = StoredSession(in: store, environment: world.environment)
            let first = try await session.use { try await $0.freshAccessToken().value }
            // Another process has put another session there.
            await store.put(try await world.signIn().record)
            let second = try await session.use { try await $0.freshAccessToken().value }
            #expect(first != second)
            let kept = LockedValue<Weak>(Weak())
            try await session.use { state in kept.withLock { $0.state = state } }
            #expect(kept.withLock { $0.state } == nil)
        }
    }

    @Test func `callers at the same time cause one refresh`() async throws {
        try await World.run { world in
            let store = TestStore(try await world.signIn().record)
            let session = StoredSession(in: store, environment: world.environment)
            world.clock.advance(by: 24 * 3600)
            let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
                for _ in 0..<20 { group.addTask { try await session.use { try await $0.freshAccessToken().value } } }
                return try await group.reduce(into: Set<Secret>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `without a session, the error names the store`() async throws {
        try await World.run { world in
            let session = StoredSession(in: TestStore(), environment: world.environment)
            let error = try #require(await authError { try await session.use { try await $0.freshAccessToken() } })
            #expect(error.code == .signInRequired)
            #expect(error.message.contains("not signed in: test store has no session"))
        }
    }
}
