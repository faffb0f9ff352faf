import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// `sign-in` at providers that need more than the standards.
@Suite(.timeLimit(.minutes(5)))
struct ProviderOptionTests {
    private func gitHub(_ fixture: CommandFixture, _ preset: [String] = ["--preset", "github"]) -> [String] {
        preset + [
            "--issuer", fixture.issuer, "--authorization-endpoint", fixture.provider.url(.authorization),
            "--token-endpoint", fixture.provider.url(.token), "--device-endpoint",
            fixture.provider.url(.deviceAuthorization), "--client-id", "demo", "--scope", "profile email", "--json",
        ]
    }

    /// The file is another issuer's, and is sent as it is.
    @Test func `--client-assertion-file authenticates the client without other options`() async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/assertion"
            try "e30.e30.c2ln".write(toFile: path, atomically: true, encoding: .utf8)
            try await fixture.login("--client-assertion-file", path).failure(1, "invalid_client")
            let form = try #require(fixture.provider.log(.token).first?.form)
            #expect(form["client_assertion"] == "e30.e30.c2ln")
        }
    }

    @Test func `--preset google gets a refresh token without offline_access`() async throws {
        try await withDesk(.google) { fixture in
            let result = try await fixture.login("--preset", "google").result()
            #expect(result["has_refresh_token"]?.bool == true)
            let sent = try #require(fixture.provider.log(.authorization).first?.query)
            #expect(sent["access_type"] == "offline" && sent["prompt"] == "consent")
        }
    }

    @Test func `options of the command take precedence over the preset's`() async throws {
        try await withDesk(.google) { fixture in
            _ = try await fixture.login(
                "--preset", "google", "--prompt", "login consent", "--param", "access_type=online"
            ).result()
            let sent = try #require(fixture.provider.log(.authorization).first?.query)
            #expect(sent.values("access_type") == ["online"] && sent["prompt"] == "login consent")
            _ = try await fixture.login("--preset", "google", "--param", "prompt=select_account").result()
            #expect(fixture.provider.log(.authorization).last?.query.values("prompt") == ["select_account"])
        }
    }

    @Test func `--preset github signs in, and later commands know its dialect`() async throws {
        try await withDesk(.gitHub) { fixture in
            let result = try await fixture.start(["login"] + gitHub(fixture)).outcome().result()
            #expect(result["scope"]?.string == "profile email" && result.isNull("id_token_claims"))
            let token = try await fixture.run("token", "--force-refresh", "--json").result()
            #expect(token["scope"]?.string == "profile email")
            fixture.provider.revokeGrant(of: try #require(token["access_token"]?.string))
            let refused = try await fixture.run("token", "--force-refresh", "--json").json()
            #expect(refused["error"]?["code"]?.string == "sign_in_required")
        }
    }

    @Test func `a step-up signs in with the preset of the session, and --verbose says so`() async throws {
        try await withDesk(.gitHub) { fixture in
            _ = try await fixture.start(["login"] + gitHub(fixture)).outcome().result()
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="api""#]), at: .api)
            let outcome = try await fixture.run(
                "request", "GET", fixture.provider.url(.api), "--step-up-at", fixture.provider.url(.api), "--verbose",
                "--json")
            #expect(try outcome.result()["status"] == 200)
            #expect(outcome.errors.contains("signing in as with --preset github"), "\(outcome)")
            #expect(try await fixture.run("token", "--json").result()["scope"] == "profile email api")
        }
    }

    @Test(arguments: [
        ["--preset", "github"], ["--preset", "google"], ["--token-endpoint", "https://op.example/token"],
    ])
    func `without a client id, a provider without registration is not one to register at`(
        options: [String]
    ) async throws {
        try await withDesk { fixture in
            let message = try await fixture.start(["login", "--json"] + options).outcome().wrongUsage()
            #expect(message.hasPrefix("expected --client-id: "), "\(message)")
            #expect(!message.contains("sign-in register"), "\(message)")
            let issuer = try await fixture.run("login", "--json", "--issuer", fixture.issuer).wrongUsage()
            #expect(issuer.contains("see 'sign-in register'"), "\(issuer)")
        }
    }

    @Test func `a provider's own metadata chooses no preset`() async throws {
        try await withDesk { fixture in
            let edit = Fault.editDocument { $0["sign_in_preset"] = "github" }
            fixture.provider.fault(edit, at: .openIDConfiguration)
            _ = try await fixture.login().result()
            fixture.provider.fault(.status(.ok, json: ["error": "bad_refresh_token"]), at: .token)
            try await fixture.run("token", "--force-refresh", "--json").failure(1, "bad_refresh_token")
        }
    }

    @Test func `without a preset, the endpoints suffice`() async throws {
        try await withDesk(.gitHub) { fixture in
            let result = try await fixture.start(["login"] + gitHub(fixture, [])).outcome().result()
            #expect(result["scope"]?.string == "profile,email")
        }
    }

    @Test func `the device flow works with endpoints, too`() async throws {
        var configuration = LocalProvider.Configuration.gitHub
        configuration.devicePollingInterval = 1
        try await withDesk(configuration) { fixture in
            let process = try fixture.start(["device"] + gitHub(fixture))
            try await DeviceCode(process).decide("allow")
            #expect(try await process.outcome().result()["scope"]?.string == "profile email")
        }
    }

    @Test(arguments: [
        ["login", "--client-id", "a"], ["device", "--client-id", "a"],
        ["login", "--client-id", "a", "--preset", "unknown"],
        ["login", "--client-id", "a", "--issuer", "https://x.example", "--device-endpoint", "https://x.example"],
    ])
    func `a missing or wrong provider is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.start(arguments).outcome()
            #expect(outcome.status == 2 && outcome.errorLines.count == 1, "\(outcome)")
        }
    }
}
