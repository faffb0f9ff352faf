import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// `sign-in exchange` (RFC 8693).
@Suite(.timeLimit(.minutes(5)))
struct ExchangeTests {
    private static let accessToken = "urn:ietf:params:oauth:token-type:access_token"

    private func file(_ fixture: CommandFixture, _ name: String, _ text: String) throws -> String {
        try Data(text.utf8).write(to: URL(filePath: "\(fixture.home)/\(name)"))
        return "\(fixture.home)/\(name)"
    }

    private func client(_ fixture: CommandFixture) throws -> [String] {
        [
            "--issuer", fixture.issuer, "--client-id", "demo-confidential", "--client-secret-file",
            try file(fixture, "secret", "s3cret: 100% äß+/= and thirty-two"),
        ]
    }

    @Test func `the session's token is exchanged, and the session stays as it is`() async throws {
        try await withDesk { fixture in
            let login = ["login", "--json"] + (try client(fixture))
            _ = try await fixture.start(login).outcome().result()
            let before = try fixture.session()
            let result = try await fixture.run(
                "exchange", "--json", "--audience", "demo-service", "--scope", "profile"
            ).result()
            #expect(
                result.object?.names.sorted() == [
                    "access_token", "expires_at", "issued_token_type", "scope", "token_type",
                ])
            #expect(fixture.provider.log(.token).last?.form["audience"] == "demo-service")
            #expect(result["issued_token_type"]?.string == Self.accessToken && result["token_type"] == "Bearer")
            #expect(result["scope"] == "profile" && result["expires_at"]?.string?.hasSuffix("Z") == true)
            #expect(fixture.provider.isAlive(result["access_token"]?.string ?? ""))
            #expect(try fixture.session() == before)
            let ofIDToken = try await fixture.run(
                "exchange", "--json", "--subject-token-type", "id_token", "--requested-token-type", "jwt"
            ).result()
            #expect(ofIDToken["token_type"] == "N_A")
            let text = try await fixture.run("exchange")
            #expect(text.status == 0 && text.outputLines.count == 1 && text.errors.isEmpty)
        }
    }

    @Test func `a session that is bound to a key proves it, and the new token is bound to it too`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.dpopNonce = .required()
        for index in configuration.clients.indices where configuration.clients[index].id == "demo-confidential" {
            configuration.clients[index].requiresDPoP = true
        }
        try await withDesk(configuration) { fixture in
            let login = ["login", "--dpop", "--json"] + (try client(fixture))
            _ = try await fixture.start(login).outcome().result()
            for kind in ["access_token", "id_token"] {
                let result = try await fixture.run("exchange", "--json", "--subject-token-type", kind).result()
                #expect(
                    result["token_type"] == "DPoP" && fixture.provider.isAlive(result["access_token"]?.string ?? ""))
            }
        }
    }

    @Test func `a token in a file is exchanged, for an actor too`() async throws {
        try await withDesk { fixture in
            let subject = try file(fixture, "subject", fixture.provider.mintSession().accessToken + "\n")
            let actor = try file(
                fixture, "actor", fixture.provider.mintSession(client: "demo-confidential").accessToken)
            let arguments =
                try ["exchange", "--json", "--subject-token-file", subject, "--actor-token-file", actor]
                + client(fixture)
            let result = try await fixture.start(arguments).outcome().result()
            #expect(fixture.provider.isAlive(result["access_token"]?.string ?? ""))
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `a refusal is the server's own error, without the token`() async throws {
        try await withDesk { fixture in
            let subject = try file(fixture, "subject", "never-was-a-token")
            let arguments = try ["exchange", "--json", "--subject-token-file", subject] + client(fixture)
            let outcome = try await fixture.start(arguments).outcome()
            try outcome.failure(1, "invalid_request")
            #expect(!(outcome.output + outcome.errors).contains("never-was-a-token"))
            try await fixture.run("exchange", "--json").failure(1, "sign_in_required")
        }
    }

    @Test(arguments: [
        ["--subject-token-file", "/tmp/x"], ["--subject-token-type", "refresh_token"], ["--actor-token-type", "jwt"],
        ["--subject-token-type", "toaster"], ["--client-auth", "none"], ["--client-secret-file", "/dev/null"],
        ["--client-key", "/dev/null"], ["--client-assertion-file", "/dev/null"], ["--assertion-audience", "issuer"],
        ["--token-endpoint", "https://op.example/token"],
        ["--subject-token-file", "/tmp/x", "--issuer", "https://op.example"],
        ["--subject-token-file", "/tmp/x", "--issuer", "https://op.example", "--client-id", "a", "--profile", "b"],
        [
            "--subject-token-file", "/tmp/x", "--issuer", "https://op.example", "--token-endpoint",
            "https://op.example/token", "--client-id", "a",
        ],
    ])
    func `an impossible exchange is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(["exchange", "--json"] + arguments).outcome().wrongUsage()
        }
    }
}
