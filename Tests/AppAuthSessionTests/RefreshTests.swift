import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The results of a refresh, and the time of one (RFC 6749 §6, OpenID Connect Core §12).
struct RefreshTests {
    @Test func `a token that cannot be refreshed is handed out until its end, to who needs it no longer`() async throws
    {
        try await World.run { world in
            let state = try await world.signIn(scope: [.openID])
            #expect(await !state.record.hasRefreshToken)
            let token = try await state.freshAccessToken()
            world.clock.advance(by: 3590)
            #expect(try await state.freshAccessToken() == token)
            #expect(try await state.freshAccessToken(minimumValidity: .seconds(5)) == token)
            let error = await authError { try await state.freshAccessToken(minimumValidity: .seconds(30)) }
            #expect(error?.code == .noRefreshToken, "\(String(describing: error))")
        }
    }

    /// The time since boot says that the token is still valid, and there is no other.
    @Test(arguments: [nil, Duration.seconds(3000)])
    func `a token that cannot be refreshed is handed out although the wall clock was set ahead`(
        minimumValidity: Duration?
    ) async throws {
        try await World.run { world in
            let state = try await world.signIn(scope: [.openID])
            let token = try await state.freshAccessToken()
            world.clock.step(by: 7200)
            #expect(try await state.freshAccessToken(minimumValidity: minimumValidity) == token)
        }
    }

    @Test func `a token is refreshed 60 s before its end, and not before`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let first = try await state.freshAccessToken()
            world.clock.advance(by: 3540)
            #expect(try await state.freshAccessToken() == first)
            #expect(world.provider.count(.token) == 1)
            world.clock.advance(by: 1)
            let second = try await state.freshAccessToken()
            #expect(second.value != first.value)
            #expect(second.expiresAt == world.clock.now + 3600)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a token is refreshed when the server wants it, and kept if that fails`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshIn = 600
        try await World.run(configuration) { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let first = try await state.freshAccessToken()
            world.clock.advance(by: 599)
            #expect(try await state.freshAccessToken() == first)
            world.clock.advance(by: 1)
            // The time is stored.
            let stored = try AuthStateRecord(decoding: #require(await store.record).encoded(), from: "a test")
            #expect(stored.accessToken?.refreshIn == .seconds(600))
            let second = try await state.freshAccessToken()
            #expect(second.value != first.value && world.provider.count(.token) == 2)
            #expect(await state.record.additionalParameters.names.isEmpty)
            world.clock.advance(by: 600)
            world.provider.fault(.unavailable(retryAfter: 60), at: .token)
            #expect(try await state.freshAccessToken() == second)
            #expect(try await state.freshAccessToken() == second)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test(arguments: ["soon", -1, [], "1e300"] as [JSON])
    func `advice about the refresh that cannot be read changes nothing`(advice: JSON) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["refresh_in"] = advice }, at: .token)
            let state = try await world.signIn()
            #expect(await state.record.accessToken?.refreshIn == nil)
        }
    }

    @Test func `a caller can ask for more validity, or for a new token at once`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let first = try await state.freshAccessToken(minimumValidity: .seconds(3600))
            world.clock.advance(by: 1)
            #expect(try await state.freshAccessToken(minimumValidity: .seconds(3599)) == first)
            let second = try await state.freshAccessToken(minimumValidity: .seconds(3600))
            #expect(second.value != first.value)
            #expect(try await state.freshAccessToken(forceRefresh: true).value != second.value)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test(arguments: [0, 1])
    func `a refreshed token is handed out, however short its lifetime is`(lifetime: Int) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let response: JSON = [
                "access_token": "short", "token_type": "Bearer", "expires_in": .number(.init(lifetime)),
            ]
            world.provider.fault(.respond(.json(response)), at: .token)
            let token = try await state.freshAccessToken(minimumValidity: .seconds(7200))
            #expect(token.value == Secret("short"))
            #expect(await state.record.end == nil)
        }
    }

    // oidcc-client-test-refresh-token
    @Test func `the rotated refresh token is kept, stored and used`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            var sent: [String] = []
            for _ in 0..<3 {
                let before = try #require(await state.record.refreshToken)
                _ = try await state.freshAccessToken(forceRefresh: true)
                let after = try #require(await state.record.refreshToken)
                #expect(after != before)
                #expect(await store.record == state.record)
                sent.append(before.reveal())
            }
            #expect(world.provider.log(.token).dropFirst().map { $0.form["refresh_token"] } == sent)
            #expect(await store.saves == 1 + 2 * 3)
        }
    }

    @Test func `a refresh token that the response does not repeat stays (RFC 6749 §6)`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.rotatesRefreshTokens = false
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            let before = await state.record.refreshToken
            // Google sends an empty one.
            for value in [nil, JSON.null, ""] {
                world.provider.fault(.editDocument { $0["refresh_token"] = value }, at: .token)
                _ = try await state.freshAccessToken(forceRefresh: true)
                #expect(await state.record.refreshToken == before)
            }
            world.provider.fault(.editDocument { $0["refresh_token"] = " \n" }, at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .invalidResponse)
            #expect(await state.record.refreshToken == before)
        }
    }

    /// A sign-in without a refresh token ends with its access token.
    @Test(arguments: [nil, .null, ""] as [JSON?])
    func `a session whose sign-in brought no refresh token has none`(value: JSON?) async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["refresh_token"] = value }, at: .token)
            let state = try await world.signIn()
            #expect(await state.record.refreshToken == nil)
            let sent = world.provider.count(.token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) } != nil)
            #expect(world.provider.count(.token) == sent)
        }
    }

    @Test(arguments: [nil, .null, ""] as [JSON?])
    func `what a refresh spells as absent stays`(value: JSON?) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            let edit = Fault.editDocument { document in
                for name in ["id_token", "scope", "expires_in"] { document[name] = value }
            }
            world.provider.fault(edit, at: .token)
            let token = try await state.freshAccessToken(forceRefresh: true)
            let after = await state.record
            #expect(token.value != before.accessToken?.value && token.lifetime == nil)
            #expect(after.idToken == before.idToken && after.scope == before.scope)
            #expect(await store.record == after)
        }
    }

    @Test func `scope and ID token stay if the response does not repeat them (RFC 6749 §5.1, Core §12.2)`()
        async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.sendsIDTokenOnRefresh = false
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            let before = await state.record
            world.provider.fault(.editDocument { $0["scope"] = nil }, at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.scope == before.scope)
            #expect(await state.record.idToken == before.idToken)
            world.provider.fault(.editDocument { $0["scope"] = "openid" }, at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.scope == [.openID])
        }
    }

    @Test func `a new ID token of the same user replaces the old one`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let before = await state.record.idToken
            world.clock.advance(by: 3600)
            _ = try await state.freshAccessToken()
            let after = try #require(await state.record.idToken)
            #expect(after != before)
            #expect(after.issuedAt == world.clock.now)
        }
    }

    @Test func `without a refresh token a token is used to its end, and not beyond`() async throws {
        try await World.run { world in
            let state = try await world.signIn(scope: [.openID])
            world.clock.advance(by: 3599)
            let token = try await state.freshAccessToken()
            #expect(
                await authError { try await state.freshAccessToken(minimumValidity: .seconds(2)) }?.code
                    == .noRefreshToken)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .noRefreshToken)
            #expect(try await state.freshAccessToken() == token)
            world.clock.advance(by: 1)
            let error = try #require(await authError { try await state.freshAccessToken() })
            #expect(error.code == .noRefreshToken)
            #expect(error.outcome == .notSent)
            #expect(world.provider.count(.token) == 1)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `an imported session is refreshed too`() async throws {
        try await World.run { world in
            let minted = try world.provider.mintSession()
            let record = try AuthStateRecord(
                client: await world.client(), accessToken: nil, refreshToken: minted.refreshToken.map(Secret.init))
            let store = TestStore()
            let state = try await AuthState(record: record, store: store, environment: world.environment)
            let token = try await state.freshAccessToken()
            #expect(world.provider.isAlive(token.value.reveal()))
            #expect(await store.record == state.record)
        }
    }
}
