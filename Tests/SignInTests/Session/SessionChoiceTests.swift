import Foundation
import JOSE
import LocalProvider
import Testing

/// Which session is meant where nobody says.
@Suite(.timeLimit(.minutes(5)))
struct SessionChoiceTests {
    private func withTwoSessions(_ body: (Desk) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "-second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { desk in
            _ = try await desk.login().result()
            _ = try await desk.login(client: "-second").result()
            try await body(desk)
        }
    }

    @Test func `with several sessions and no choice the line lists them`() async throws {
        try await withTwoSessions { desk in
            for command in [["token"], ["userinfo"], ["request", "GET", desk.provider.url(.api)], ["logout"]] {
                let message = try await desk.start(command + ["--json"]).outcome().wrongUsage()
                for client in ["demo", "-second"] {
                    #expect(message.contains("--issuer \(desk.issuer) --client-id \(client)"), "\(message)")
                }
            }
            #expect(desk.stored.count == 2)
        }
    }

    @Test func `issuer and client say which`() async throws {
        try await withTwoSessions { desk in
            for choice in [["--client-id", "-second"], ["--issuer", desk.issuer, "--client-id", "-second"]] {
                _ = try await desk.start(["userinfo", "--json"] + choice).outcome().result()
                let status = try await desk.start(["status", "--json"] + choice).outcome().result()
                #expect(status["sessions"]?.array?.map { $0["client_id"]?.string } == ["-second"])
            }
            try await desk.run("token", "--json", "--issuer", desk.issuer).wrongUsage()
            try await desk.run("token", "--json", "--client-id", "third").failure(1, "sign_in_required")
            let other = try await desk.run("token", "--json", "--issuer", desk.issuer + "/x", "--client-id", "demo")
            try other.failure(1, "sign_in_required")
            _ = try await desk.run("logout", "--json", "--local", "--client-id", "demo").result()
            #expect(desk.stored.count == 1)
            _ = try await desk.run("token", "--json").result()
        }
    }

    @Test func `an issuer that cannot be one is refused, not taken for a missing session`() async throws {
        try await withDesk { desk in
            let outcome = try await desk.run("token", "--json", "--issuer", "http://op.example", "--client-id", "demo")
            try outcome.failure(1, "invalid_configuration")
        }
    }
}
