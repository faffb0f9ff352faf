import AppAuthServer
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

@testable import AppAuthProtocol

/// A sign-in that the user approves on another device (CIBA Core), in poll mode.
struct BackchannelSignInTests {
    private func run(
        _ configuration: LocalProvider.Configuration = .demo, _ test: (BackchannelFixture) async throws -> Void
    ) async throws {
        try await World.run(configuration) { try await test(BackchannelFixture($0)) }
    }

    @Test func `the user approves, and the session is stored`() async throws {
        try await run { fixture in
            var options = BackchannelAuthenticationRequest.Options()
            options.bindingMessage = "W4SCT"
            let authentication = try await fixture.begin(.login("alice@example.com"), options)
            #expect(authentication.expiresIn == .seconds(600) && authentication.interval == .seconds(5))
            #expect(fixture.world.provider.waitingApprovals.map(\.bindingMessage) == ["W4SCT"])
            fixture.plan(duringPause: 2) { try $0.decide() }
            let store = TestStore()
            let state = try await fixture.signIn(authentication, store: store)
            let record = await state.record
            #expect(record.idToken?.subject == User.alice.subject && record.hasRefreshToken)
            #expect(await store.record == record)
            #expect(fixture.pauses == [.seconds(5), .seconds(5)] && fixture.progress == [.waiting])
            let sent = try #require(fixture.world.provider.log(.backchannelAuthentication).first).form
            #expect(
                sent.entries.map { "\($0.name)=\($0.value)" } == [
                    "scope=openid profile offline_access", "login_hint=alice@example.com", "binding_message=W4SCT",
                ])
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `a denial by the user ends the wait`() async throws {
        try await run { fixture in
            let authentication = try await fixture.begin()
            fixture.plan(duringPause: 1) { try $0.decide(isAllowed: false) }
            let store = TestStore()
            #expect(await authError { try await fixture.signIn(authentication, store: store) }?.code == .accessDenied)
            #expect(await store.record == nil)
        }
    }

    /// Even if the clock was set back during the last pause.
    @Test(arguments: [12, 15])
    func `a user who does not decide in time ends the wait`(expiry: Int) async throws {
        try await run { fixture in
            var options = BackchannelAuthenticationRequest.Options()
            options.requestedExpiry = expiry
            let authentication = try await fixture.begin(.login("alice"), options)
            #expect(authentication.expiresIn == .seconds(expiry))
            fixture.plan(duringPause: 3) { $0.clock.advance(by: -1) }
            #expect(await authError { try await fixture.signIn(authentication) }?.code == .expiredToken)
            #expect(fixture.pauses == [.seconds(5), .seconds(5), .seconds(expiry - 10)])
            #expect(fixture.world.provider.count(.token) == 2)
        }
    }

    @Test func `slow_down and trouble on the way make the pauses longer`() async throws {
        try await run { fixture in
            let authentication = try await fixture.begin()
            fixture.world.provider.fault(.status(.badRequest, json: ["error": "slow_down"]), at: .token)
            fixture.world.provider.fault(.reset(), at: .token)
            fixture.plan(duringPause: 3) { try $0.decide() }
            _ = try await fixture.signIn(authentication)
            #expect(fixture.pauses == [.seconds(5), .seconds(10), .seconds(20)])
            guard case .slowedDown(interval: .seconds(10)) = fixture.progress.first,
                case .connectionTrouble(_, pause: .seconds(20)) = fixture.progress.last
            else {
                Issue.record("\(fixture.progress)")
                return
            }
        }
    }

    @Test func `an error that means it ends the wait`() async throws {
        try await run { fixture in
            let authentication = try await fixture.begin()
            fixture.world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
            #expect(await authError { try await fixture.signIn(authentication) }?.code == .invalidGrant)
            #expect(fixture.pauses.count == 1)
        }
    }

    @Test(
        arguments: [
            ("urn:openid:params:jwt:claim:auth_req_id", "another", "auth_req_id"),
            ("urn:openid:params:jwt:claim:auth_req_id", 7, "auth_req_id"), ("nonce", "n", "nonce"),
            ("aud", "demo", "aud"),
        ] as [(String, JSON, String)])
    func `an ID token that is not of this authentication is refused`(
        name: String, value: JSON, message: String
    ) async throws {
        try await run { fixture in
            let authentication = try await fixture.begin()
            fixture.plan(duringPause: 1) { try $0.decide() }
            fixture.world.provider.fault(.editIDToken { $0.claims[name] = value }, at: .token)
            let error = await authError { try await fixture.signIn(authentication) }
            #expect(error?.code == .invalidIDToken && error?.message.contains("'\(message)'") == true)
        }
    }

    @Test func `an ID token that names this authentication is fine`() async throws {
        try await run { fixture in
            let authentication = try await fixture.begin()
            fixture.plan(duringPause: 1) { try $0.decide() }
            let id = JSON.string(authentication.authReqID.reveal())
            fixture.world.provider.fault(
                .editIDToken { $0.claims["urn:openid:params:jwt:claim:auth_req_id"] = id }, at: .token)
            _ = try await fixture.signIn(authentication)
        }
    }

    @Test func `the user who approves must be the one in the ID token hint`() async throws {
        try await run { fixture in
            let first = try await fixture.begin()
            fixture.plan(duringPause: 1) { try $0.decide() }
            let idToken = try #require(await fixture.signIn(first).record.idToken)
            let second = try await fixture.begin(.idToken(idToken))
            fixture.plan(duringPause: 2) { try $0.decide() }
            _ = try await fixture.signIn(second)
            let third = try await fixture.begin(.idToken(idToken))
            fixture.plan(duringPause: 3) { try $0.decide() }
            fixture.world.provider.fault(.editIDToken { $0.claims["sub"] = "mallory" }, at: .token)
            let error = await authError { try await fixture.signIn(third) }
            #expect(error?.code == .invalidIDToken && error?.message.contains("as a hint") == true)
            // Core §5.7: the same `sub` of another issuer is another user.
            var claims = idToken.claims.members
            claims["iss"] = "https://other.example"
            let foreign = try await fixture.begin(.idToken(IDToken(rawValue: idToken.rawValue, claims: Claims(claims))))
            fixture.plan(duringPause: 4) { try $0.decide() }
            let refusal = await authError { try await fixture.signIn(foreign) }
            #expect(refusal?.code == .invalidIDToken && refusal?.message.contains("as a hint") == true)
        }
    }
}
