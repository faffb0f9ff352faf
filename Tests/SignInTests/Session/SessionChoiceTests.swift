import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The session that is used without --issuer and --client-id.
@Suite(.timeLimit(.minutes(5)))
struct SessionChoiceTests {
    private func withTwoSessions(_ body: (CommandFixture) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "-second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            try await fixture.signIn(client: "-second")
            try await body(fixture)
        }
    }

    @Test func `an error that the same sign-in would bring again names the scope`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(scope: "openid")
            let token = try await fixture.run("token", "--force-refresh", "--json").failure(1, "no_refresh_token")
            #expect(token.contains(". Sign in with: sign-in login"), "\(token)")
            #expect(token.contains("offline_access") && !token.contains("again"), "\(token)")
            try await fixture.signIn(scope: "profile offline_access")
            let idToken = try await fixture.run("token", "--id-token", "--json").failure(1, "no_id_token")
            #expect(idToken.contains(". Sign in with: sign-in login"), "\(idToken)")
            #expect(idToken.hasSuffix("--scope 'profile offline_access openid'"), "\(idToken)")
        }
    }

    /// A scope that the metadata do not list may lead to a page about an error.
    @Test(arguments: [true, false])
    func `offline_access is proposed if the provider has metadata of its own`(isDiscovered: Bool) async throws {
        try await withDesk { fixture in
            let endpoints = [
                "--token-endpoint", fixture.provider.url(.token), "--authorization-endpoint",
                fixture.provider.url(.authorization),
            ]
            let provider = isDiscovered ? ["--issuer", fixture.issuer] : endpoints
            let line = ["login", "--json", "--client-id", "demo", "--scope", "profile"] + provider
            _ = try await fixture.start(line).outcome().result()
            let message = try await fixture.run("token", "--force-refresh", "--json").failure(1, "no_refresh_token")
            #expect(message.contains("offline_access") == isDiscovered, "\(message)")
        }
    }

    @Test func `a profile whose client is a registered one is named by that client`() async throws {
        try await withDesk { fixture in
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            let client = try #require(try await fixture.start(register).outcome().result()["client_id"]?.string)
            let login = try await fixture.run("login", "--json", "--issuer", fixture.issuer, "--profile", "work")
            #expect(try login.result()["client_id"]?.string == client)
            let named = ["token", "--json", "--issuer", fixture.issuer, "--client-id", client]
            let message = try await fixture.start(named).outcome().failure(1, "sign_in_required")
            #expect(message.hasSuffix("name it: --profile work"), "\(message)")
        }
    }

    @Test func `with several sessions and no choice the line lists them`() async throws {
        try await withTwoSessions { fixture in
            for command in [["token"], ["userinfo"], ["request", "GET", fixture.provider.url(.api)], ["logout"]] {
                let message = try await fixture.start(command + ["--json"]).outcome().wrongUsage()
                for client in ["demo", "-second"] {
                    #expect(message.contains("--issuer \(fixture.issuer) --client-id \(client)"), "\(message)")
                }
            }
            #expect(fixture.stored.count == 2)
        }
    }

    @Test func `for people, each choice is in a line of its own`() async throws {
        try await withTwoSessions { fixture in
            let outcome = try await fixture.run("token")
            #expect(outcome.status == 2 && outcome.output.isEmpty, "\(outcome)")
            let lines = ["-second", "demo"].map { "  --issuer \(fixture.issuer) --client-id \($0)" }
            #expect(
                outcome.errorLines == ["sign-in: several sessions are stored, choose one:"] + lines, "\(outcome)")
        }
    }

    /// The session may be in either store.
    @Test func `a profile with a session in two stores is one choice`() async throws {
        try await withTwoSessions { fixture in
            try await fixture.signIn(profile: "work")
            try "profile work\n".write(
                toFile: fixture.sessions + "/work.keyring", atomically: true, encoding: .utf8)
            let message = try await fixture.run("token", "--json").wrongUsage()
            #expect(message.ranges(of: "--profile work").count == 1, "\(message)")
        }
    }

    @Test func `--issuer and --client-id choose the session`() async throws {
        try await withTwoSessions { fixture in
            for choice in [["--client-id", "-second"], ["--issuer", fixture.issuer, "--client-id", "-second"]] {
                _ = try await fixture.start(["userinfo", "--json"] + choice).outcome().result()
                let status = try await fixture.start(["status", "--json"] + choice).outcome().result()
                #expect(status["sessions"]?.array?.map { $0["client_id"]?.string } == ["-second"])
            }
            try await fixture.run("token", "--json", "--issuer", fixture.issuer).wrongUsage()
            try await fixture.run("token", "--json", "--client-id", "third").failure(1, "sign_in_required")
            let other = try await fixture.run(
                "token", "--json", "--issuer", fixture.issuer + "/x", "--client-id", "demo")
            try other.failure(1, "sign_in_required")
            _ = try await fixture.run("logout", "--json", "--local", "--client-id", "demo").result()
            #expect(fixture.stored.count == 1)
            _ = try await fixture.run("token", "--json").result()
        }
    }

    /// With 12 descriptors, a command that starts threads and timers fails: see ``FewDescriptorsTests``.
    @Test func `the stored token of the chosen session is printed without threads and timers`() async throws {
        try await withTwoSessions { fixture in
            func token(_ choice: String...) async throws -> Outcome {
                let program = ["sh", "-c", #"ulimit -n 12; exec "$0" "$@""#, try BuiltProducts.path("sign-in")]
                return try await fixture.start(program, ["token", "--json"] + choice).outcome()
            }
            let stored = fixture.stored.map { "file:\(fixture.sessions)/\($0)" }
            let tokens = try await [
                token("--client-id", "-second").result(),
                token("--issuer", fixture.issuer, "--client-id", "-second").result(),
                token("--store", stored[0], "--issuer", fixture.issuer).result(),
            ].map { $0["access_token"]?.string }
            #expect(stored[0].hasSuffix("+-second.json") && Set(tokens).count == 1 && tokens[0] != nil)
            let other = try await token("--issuer", fixture.issuer, "--client-id", "demo").result()
            #expect(other["access_token"]?.string != tokens[0])
            // These need the slow path, which reports the error.
            try await token().failure(1, "unavailable")
            try await token("--issuer", fixture.issuer).failure(1, "unavailable")
            try await token("--issuer", "http://op.example", "--store", stored[0]).failure(1, "unavailable")
            try await token("--issuer", "https://op.example", "--store", stored[0]).failure(1, "unavailable")
            try await token("--client-id", "demo", "--store", stored[0]).failure(1, "unavailable")
            try await token("--client-id", "third").failure(1, "unavailable")
            _ = try await fixture.run("logout", "--json", "--local", "--client-id", "demo").result()
            _ = try await token("--issuer", fixture.issuer).result()
        }
    }

    @Test func `a file with the session of another issuer or client is refused and stays`() async throws {
        try await withDesk { fixture in
            let store = ["--store", "file:\(fixture.home)/session"]
            _ = try await fixture.start(fixture.loginArguments(store)).outcome().result()
            let session = try Data(contentsOf: URL(fileURLWithPath: "\(fixture.home)/session"))
            let others = [["--client-id", "other"], ["--issuer", "https://op.example", "--client-id", "demo"]]
            let commands = [
                ["token"], ["token", "--force-refresh"], ["userinfo"], ["request", "GET", fixture.provider.url(.api)],
                ["exchange"], ["logout"], ["logout", "--local"], ["logout", "--discard"],
            ]
            for other in others {
                for command in commands {
                    let message = try await fixture.start(command + ["--json"] + store + other).outcome()
                        .failure(1, "invalid_configuration")
                    #expect(message.contains("/session has the session of demo at \(fixture.issuer)"), "\(message)")
                }
                let status = try await fixture.start(["status", "--json"] + store + other).outcome().result()
                #expect(status["sessions"] == [])
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: "\(fixture.home)/session")) == session)
            #expect(fixture.provider.count(.token) == 1 && fixture.provider.count(.revocation) == 0)
            let own = ["--issuer", fixture.issuer, "--client-id", "demo"]
            for command in [["token"], ["token", "--force-refresh"], ["logout", "--revoke-only"]] {
                _ = try await fixture.start(command + ["--json"] + store + own).outcome().result()
            }
        }
    }

    @Test func `a sign-in replaces the session of another client in the named file`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            let store = ["--store", "file:\(fixture.home)/session"]
            for client in ["demo", "second"] {
                _ = try await fixture.start(fixture.loginArguments(store, client: client)).outcome().result()
            }
            let status = try await fixture.start(["status", "--json"] + store).outcome().result()
            #expect(status["sessions"]?.array?.map { $0["client_id"]?.string } == ["second"])
        }
    }

    @Test func `an invalid issuer is rejected, not treated as a missing session`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run(
                "token", "--json", "--issuer", "http://op.example", "--client-id", "demo")
            try outcome.failure(1, "invalid_configuration")
        }
    }
}
