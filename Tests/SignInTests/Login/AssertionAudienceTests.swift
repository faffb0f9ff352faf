import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The audience of a client assertion (RFC 7523 §3): several providers accept only their token endpoint.
@Suite(.timeLimit(.minutes(5)))
struct AssertionAudienceTests {
    private func withKeyDesk(_ body: (CommandFixture, _ arguments: [String]) async throws -> Void) async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = LocalProvider.Configuration.demo
        configuration.requiresTokenEndpointAudience = true
        configuration.clients.append(
            RegisteredClient(id: "keyed", keys: [key.publicKey], redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try Data(key.pem.utf8).write(to: URL(filePath: "\(fixture.home)/key"))
            try await body(
                fixture,
                [
                    "login", "--json", "--issuer", fixture.issuer, "--client-id", "keyed", "--client-key",
                    "\(fixture.home)/key",
                ])
        }
    }

    private func audiences(_ fixture: CommandFixture, _ endpoint: Endpoint) throws -> [String?] {
        try fixture.provider.log(endpoint).map {
            try JSON(parsing: JWS(compact: $0.form["client_assertion"] ?? "").payload)["aud"]?.string
        }
    }

    @Test func `a refused assertion for the issuer names the option for the token endpoint`() async throws {
        try await withKeyDesk { fixture, arguments in
            let message = try await fixture.start(arguments).outcome().failure(1, "invalid_client")
            #expect(message.contains("--assertion-audience token-endpoint"), "\(message)")
            #expect(try audiences(fixture, .token) == [fixture.issuer])
        }
    }

    @Test func `the token endpoint is the audience at every endpoint, and the session remembers that`() async throws {
        try await withKeyDesk { fixture, arguments in
            let option = ["--assertion-audience", "token-endpoint"]
            _ = try await fixture.start(arguments + option).outcome().result()
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            #expect(try await fixture.run("logout", "--json").result()["revoked"] == ["refresh_token", "access_token"])
            let url = fixture.provider.url(.token)
            #expect(try audiences(fixture, .token) == [url, url])
            #expect(try audiences(fixture, .revocation) == [url, url])
        }
    }

    @Test func `a URL is used as the audience unchanged`() async throws {
        try await withKeyDesk { fixture, arguments in
            let url = fixture.provider.url(.token)
            _ = try await fixture.start(arguments + ["--assertion-audience", url]).outcome().result()
            #expect(try audiences(fixture, .token) == [url])
            let wrong = try await fixture.start(arguments + ["--assertion-audience", "https://op.example"]).outcome()
            let message = try wrong.failure(1, "invalid_client")
            #expect(!message.contains("--assertion-audience"), "\(message)")
        }
    }

    @Test(arguments: [
        ["--client-key", "/dev/null", "--assertion-audience", "nobody"],
        ["--client-key", "/dev/null", "--assertion-audience", "http://op.example"],
        ["--client-auth", "basic", "--client-secret-file", "/dev/null", "--assertion-audience", "issuer"],
        ["--client-auth", "none", "--assertion-audience", "token-endpoint"],
    ])
    func `a malformed or useless audience is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(fixture.loginArguments(arguments)).outcome().wrongUsage()
        }
    }
}
