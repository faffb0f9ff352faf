import AppAuthTestProvider
import JOSE
import Testing

/// A sign-in that replaces another user's session.
@Suite(.timeLimit(.minutes(5)))
struct ReplacedSessionTests {
    @Test func `the result is printed before the tokens of the replaced session are revoked`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users = [.alice, LocalProvider.User(name: "bob", password: "builder")]
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login().result()
            let hold = fixture.provider.hold(.revocation)
            let process = try fixture.start(
                fixture.loginArguments([]), ["SCRIPTED_BROWSER_FORM": "username=bob&password=builder"])
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
        var configuration = LocalProvider.Configuration.demo
        configuration.users = [.alice, LocalProvider.User(name: "bob", password: "builder")]
        try await withDesk(configuration) { fixture in
            _ = try await fixture.login().result()
            let hold = fixture.provider.hold(.revocation)
            defer { hold.release() }
            let outcome = try await fixture.login(
                "--timeout", "20", with: ["SCRIPTED_BROWSER_FORM": "username=bob&password=builder"])
            _ = try outcome.result()
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }
}
