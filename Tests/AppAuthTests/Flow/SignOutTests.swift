import AppAuth
import AppAuthSession
import AppAuthTestProvider
import TestFixtures
import Testing

/// A sign-out that begins with the store.
struct SignOutTests {
    @Test func `the session of a store is revoked and removed, and reported once`() async throws {
        try await World.run { world in
            let store = MemoryTokenStore()
            _ = try await world.signIn(store: store)
            var signOut = SignOut(appName: "Test")
            signOut.endsBrowserSession = false
            let report = try #require(try await signOut.run(store: store, environment: world.environment))
            #expect(report.revocations.map(\.tokenTypeHint) == ["refresh_token", "access_token"])
            #expect(report.revocations.allSatisfy { $0.error == nil })
            #expect(await store.load() == nil)
            let again = try await signOut.run(store: store, environment: world.environment)
            #expect(again == nil && world.provider.count(.revocation) == 2)
        }
    }
}
