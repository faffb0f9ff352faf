import AppAuth
import AppAuthSession
import AppAuthTestProvider
import ScriptedBrowser
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

    // Several providers end all sessions of a user with the browser's.
    @Test(arguments: [false, true])
    func `the browser is not sent to the provider if another sign-in has replaced the session`(
        isReplaced: Bool
    ) async throws {
        try await World.run { world in
            let store = MemoryTokenStore()
            let state = try await world.signIn(store: store)
            if isReplaced { _ = try await world.signIn(store: store) }
            let later = await store.load()
            let revocations = world.provider.count(.revocation)
            let report = try await withScriptedBrowser(entries: [:]) { browser in
                var signOut = SignOut(appName: "Test")
                signOut.browser = browser
                return try await signOut.run(state)
            }
            #expect(report.sessionEnded != isReplaced)
            #expect(report.endSessionError?.code == (isReplaced ? .sessionReplaced : nil))
            #expect(world.provider.count(.endSession) == (isReplaced ? 0 : 1))
            #expect(world.provider.count(.revocation) == revocations + (isReplaced ? 0 : 2))
            #expect(await store.load() == (isReplaced ? later : nil))
        }
    }
}
