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

    /// As at Azure AD B2C: the document is not where its issuer says. It is found where the user says, at the sign-in and
    /// whenever its session needs it again, if it is that issuer's.
    @Test func `metadata elsewhere is used if it names the issuer`() async throws {
        try await withDesk { fixture in
            let document = try await fixture.run("discover", fixture.issuer, "--json").result()
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.status(.notFound), at: location, times: nil)
            }
            let fault = Fault.respond(Reply(.ok, type: "application/json", document.serialized()))
            fixture.provider.fault(fault, at: .none, times: nil)
            let elsewhere = fixture.issuer + "/policy/metadata?p=one"
            let strange = try await fixture.start([
                "login", "--json", "--issuer", fixture.issuer + "/", "--client-id", "demo", "--metadata-url", elsewhere,
            ]).outcome().failure(1, "issuer_mismatch")
            #expect(strange.contains("'\(elsewhere)' calls itself '\(fixture.issuer)'"), "\(strange)")

            let there = ["--json", "--issuer", fixture.issuer, "--metadata-url", elsewhere]
            let secret = fixture.home + "/secret"
            try Data("service-secret-of-thirty-two-bytes".utf8).write(to: URL(filePath: secret))
            let service = ["client-credentials", "--client-id", "demo-service", "--client-secret-file", secret]
            _ = try await fixture.start(service + there).outcome().result()
            // What is registered there is used there.
            for more in [[], ["--registration-endpoint", fixture.provider.url(.clientRegistration)]] {
                let register = ["register", "--redirect-uri", "http://127.0.0.1/callback"] + more
                let id = try #require(
                    try await fixture.start(register + there).outcome().result()["client_id"]?.string)
                _ = try await fixture.start(["login", "--client-id", id] + there).outcome().result()
            }
            let password = ["password", "--client-id", "demo", "--username", "alice", "--password-file", secret]
            try await fixture.start(password + there).outcome().failure(1, "unauthorized_client")
            try await fixture.start(["discover", fixture.issuer, "--metadata-url", "elsewhere", "--json"]).outcome()
                .wrongUsage()

            _ = try await fixture.login("--profile", "work", "--metadata-url", elsewhere).result()
            #expect(fixture.provider.log(.none).allSatisfy { $0.path == "/policy/metadata" && $0.query["p"] == "one" })
            let token = try await fixture.run("token", "--force-refresh", "--json", "--profile", "work").result()
            fixture.provider.revokeGrant(of: try #require(token["access_token"]?.string))
            let ended = try await fixture.run("token", "--force-refresh", "--json", "--profile", "work")
                .failure(1, "sign_in_required")
            #expect(ended.hasSuffix("sign-in login --profile work"), "\(ended)")
            _ = try await fixture.start(["login", "--profile", "work", "--json"]).outcome().result()
            _ = try await fixture.login("--metadata-url", elsewhere).result()
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let other = try await fixture.run(
                "token", "--force-refresh", "--json", "--issuer", fixture.issuer, "--client-id", "demo"
            ).failure(1, "sign_in_required")
            #expect(other.advised(by: " with: ")?.contains("--metadata-url '\(elsewhere)'") == true, "\(other)")
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

    /// Entra in another cloud: its metadata names a template, and the tenant is in the issuer of the ID token.
    @Test func `--preset entra signs in users of any tenant, and so does the command line after the end`() async throws
    {
        var configuration = LocalProvider.Configuration.demo
        let tenant = "31537af4-6d77-4bb9-a681-d2394888ea26"
        (configuration.issuerPath, configuration.tenant) = ("/common/v2.0", tenant)
        try await withDesk(configuration) { fixture in
            try await fixture.login().failure(1, "issuer_mismatch")
            let preset = ["--preset", "entra:common", "--profile", "work"]
            let result = try await fixture.start(fixture.loginArguments(preset)).outcome().result()
            let issuer = fixture.issuer.replacing("common", with: tenant)
            #expect(result["id_token_claims"]?["iss"]?.string == issuer)
            let first = try #require(fixture.provider.log(.authorization).first?.query)
            #expect(first["redirect_uri"]?.hasPrefix("http://localhost:") == true && first["prompt"] == nil)
            // Core §5.7: another tenant's user is another user, even with the same subject.
            let other = "9188040d-6c67-4c5b-b112-36a304b66dad"
            fixture.provider.fault(
                .editIDToken {
                    $0.claims["iss"] = .string(fixture.issuer.replacing("common", with: other))
                    $0.claims["tid"] = .string(other)
                }, at: .token)
            try await fixture.run("login", "--json", "--profile", "work").failure(1, "session_replaced")

            _ = try await fixture.run("logout", "--json", "--local", "--profile", "work", "--forget").result()
            // Unlike Entra, the double issues a refresh token only with consent.
            let options = ["--preset", "entra:common", "--redirect-host", "127.0.0.1", "--prompt", "consent"]
            _ = try await fixture.start(fixture.loginArguments(options)).outcome().result()
            fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let ended = try await fixture.run("token", "--force-refresh", "--json").failure(1, "sign_in_required")
            let line = try #require(ended.advised(by: " with: "))
            #expect(line.contains("--issuer \(fixture.issuer) --preset entra:common "), "\(line)")
            _ = try await fixture.start(["sh", "-c", line + " --json"], []).outcome().result()
            let uris = fixture.provider.log(.authorization).suffix(2).compactMap { $0.query["redirect_uri"] }
            #expect(uris.allSatisfy { $0.hasPrefix("http://127.0.0.1:") }, "\(uris)")
        }
    }

    @Test(arguments: ["entra", "entra:", "entra:contoso.onmicrosoft.com", "apple"])
    func `a preset that is none is refused with what is expected`(preset: String) async throws {
        try await withDesk { fixture in
            let message = try await fixture.run("login", "--json", "--client-id", "a", "--preset", preset).wrongUsage()
            #expect(message.contains(preset.hasPrefix("entra:") ? "a UUID" : "entra:TENANT"), "\(message)")
        }
    }

    @Test(arguments: [
        ["--preset", "github"], ["--preset", "google"], ["--preset", "entra:common"],
        ["--token-endpoint", "https://op.example/token"],
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
