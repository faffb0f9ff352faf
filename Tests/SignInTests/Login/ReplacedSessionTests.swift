import AppAuth
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// A sign-in that replaces another user's session.
@Suite(.timeLimit(.minutes(5)))
struct ReplacedSessionTests {
    private static let withBob = LocalProvider.Configuration.device {
        $0.users = [.alice, LocalProvider.User(name: "bob", password: "builder")]
    }

    @Test func `the result is printed before the tokens of the replaced session are revoked`() async throws {
        try await withDesk(Self.withBob) { fixture in
            try await fixture.signIn()
            let hold = fixture.provider.hold(.revocation)
            let process = try fixture.start(fixture.loginArguments([]), CommandFixture.bob)
            _ = try await process.outputLine { $0.contains("id_token_claims") }
            try await hold.arrived()
            hold.release()
            _ = try await process.outcome().result()
            let revoked = fixture.provider.log(.revocation).map { $0.form["token_type_hint"] }
            #expect(revoked == ["refresh_token", "access_token"])
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `a provider that does not respond to the revocation does not hold up the end for long`() async throws {
        try await withDesk(Self.withBob) { fixture in
            try await fixture.signIn()
            let hold = fixture.provider.hold(.revocation)
            defer { hold.release() }
            let outcome = try await fixture.login("--timeout", "20", with: CommandFixture.bob)
            _ = try outcome.result()
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `sign-in device ends when the tokens of the replaced session are revoked`() async throws {
        try await withDesk(Self.withBob) { fixture in
            try await fixture.signIn(as: .bob)
            fixture.provider.fault(.delay(.milliseconds(500)), at: .revocation, times: nil)
            let process = try fixture.device()
            try await DeviceCode(process).decide("allow")
            _ = try await process.outcome().result()
            #expect(fixture.provider.count(.revocation) == 2)
        }
    }

    @Test func `the tokens of a step-up are revoked if another user's session has come meanwhile`() async throws {
        try await withDesk(Self.withBob) { fixture in
            try await fixture.signIn()
            let session = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            let other = fixture.home + "/other"
            _ = try await fixture.login("--store", "file:\(other)", with: CommandFixture.bob).result()
            let challenge = #"Bearer error="insufficient_scope", scope="email""#
            fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api)
            fixture.provider.fault(.delay(.milliseconds(500)), at: .revocation, times: nil)
            let hold = fixture.provider.hold(.token)
            let api = fixture.provider.url(.api)
            let process = try fixture.start(["request", "GET", api, "--step-up-at", api, "--json"])
            try await hold.arrived()
            #expect(rename(other, session) == 0)
            hold.release()
            try await process.outcome().failure(1, "session_replaced")
            #expect(fixture.provider.count(.revocation) == 2)
            #expect(try fixture.record().idToken?.claims.preferredUsername == "bob")
        }
    }
}
