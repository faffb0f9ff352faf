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
            _ = try await fixture.login().result()
            _ = try await fixture.login(client: "-second").result()
            try await body(fixture)
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

    @Test func `an invalid issuer is rejected, not treated as a missing session`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run(
                "token", "--json", "--issuer", "http://op.example", "--client-id", "demo")
            try outcome.failure(1, "invalid_configuration")
        }
    }
}
