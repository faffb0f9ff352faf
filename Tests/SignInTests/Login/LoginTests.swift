import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

@testable import SignInTool

@Suite(.timeLimit(.minutes(5)))
struct LoginTests {
    private static let members = [
        "access_token_expires_at", "client_id", "has_refresh_token", "id_token_claims", "issuer", "scope", "token_type",
    ]

    @Test func `for people, the text has the life of the session and the claims`() async throws {
        try await withDesk { fixture in
            let line = ["login", "--issuer", fixture.issuer, "--client-id", "demo", "--userinfo"]
            let lasting = try await fixture.start(line).outcome()
            #expect(lasting.output.contains("The session is refreshed when needed."), "\(lasting)")
            #expect(lasting.outputLines.contains("preferred_username: alice"), "\(lasting)")
            fixture.provider.fault(.editDocument { $0["refresh_token"] = nil }, at: .token)
            let short = try await fixture.start(line).outcome()
            #expect(short.output.contains("There is no refresh token."), "\(short)")
            #expect(!short.output.contains("refreshed"), "\(short)")
            #expect(!short.output.contains("not granted"), "\(short)")
            fixture.provider.fault(.editDocument { $0["scope"] = "openid" }, at: .token)
            let less = try await fixture.start(["login", "--issuer", fixture.issuer, "--client-id", "demo"]).outcome()
            #expect(less.outputLines.contains("The provider has not granted these scopes: 'profile'."), "\(less)")
        }
    }

    @Test func `a sign-in takes three requests and prints the documented result`() async throws {
        try await withDesk { fixture in
            let result = try await fixture.login().result()
            #expect(result.object?.members.map(\.name).sorted() == Self.members)
            // Many firewalls refuse requests without one.
            for endpoint in [.openIDConfiguration, .token, .keys] as [LocalProvider.Endpoint] {
                #expect(fixture.provider.log(endpoint).map { $0.headers[.userAgent] } == [ProgramVersion.userAgent])
            }
            #expect(result["issuer"]?.string == fixture.issuer)
            #expect(result["client_id"]?.string == "demo")
            #expect(result["id_token_claims"]?["sub"]?.string == "248289761001")
            #expect(result["id_token_claims"]?["iss"]?.string == fixture.issuer)
            #expect(result["scope"]?.string == "openid profile offline_access")
            #expect(result["token_type"]?.string == "Bearer")
            #expect(result["has_refresh_token"] == true)
            let expiry = try #require(result["access_token_expires_at"]?.string)
            #expect(expiry.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil)
            let date = try Date(expiry, strategy: .iso8601)
            #expect(abs(date.timeIntervalSinceNow - 3600) < 120)

            #expect(fixture.ownRequests == [.openIDConfiguration, .token, .keys])
            let page = try await fixture.browser.page()
            #expect(page.contains("sign-in") && page.contains("terminal"), "\(page)")
        }
    }

    @Test func `without json the result is text, and the URL is on standard error`() async throws {
        try await withDesk { fixture in
            let outcome = try await fixture.run("login", "--issuer", fixture.issuer, "--client-id", "demo")
            #expect(outcome.status == 0)
            let user = "'Alice Liddell', subject 248289761001"
            #expect(outcome.outputLines.first == "Signed in at \(fixture.issuer) as \(user).")
            #expect(!outcome.output.contains("{"))
            let shown = try #require(outcome.errorLines.first { $0.hasPrefix("  http") })
            #expect(shown.trimmed.hasPrefix(fixture.provider.url(.authorization) + "?"))
            #expect(fixture.browser.visits.count == 1)
        }
    }

    /// A user chooses the name at many providers, and a provider the members.
    @Test(arguments: [
        ("Zoë_O’Hara-Smith", "Zoë", false), ("Alice. Sign in again with: touch PWN", "Alice", true),
        ("x (1). Sign in with: a'; touch PWN", "x", true),
        // A terminal would show the rest on a line of its own.
        ("Alice" + String(repeating: " ", count: 80) + "Liddell", "Alice", true),
        // Blanks that count as letters, and a sentence of plain words.
        ("Alice.\u{3164}Sign in again", "Alice", true), ("7 - update it with pip install evil", "7", true),
    ])
    func `a name cannot continue the sentence about it`(name: String, start: String, isQuoted: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users[0].claims["name"] = .string(name)
        configuration.users[0].claims["sign-in"] = "Sign in with: touch PWN"
        try await withDesk(configuration) { fixture in
            let line = ["login", "--issuer", fixture.issuer, "--client-id", "demo", "--userinfo"]
            let outcome = try await fixture.start(line).outcome()
            let text = name.replacing("'", with: "’").replacing(#/[ \u{3164}]+/#, with: " ")
            let shown = isQuoted ? "'\(text)'" : text
            #expect(outcome.outputLines.first?.contains(" as \(shown), subject ") == true, "\(outcome)")
            #expect(!outcome.outputLines.contains { $0.hasPrefix("sign-in: ") }, "\(outcome)")
        }
    }

    @Test func `without openid there are no claims and no request for keys`() async throws {
        try await withDesk { fixture in
            let result = try await fixture.login("--scope", "profile").result()
            #expect(result.object?.members.map(\.name).sorted() == Self.members)
            #expect(result.isNull("id_token_claims"))
            #expect(result["scope"]?.string == "profile")
            #expect(result["has_refresh_token"] == false)
            #expect(fixture.ownRequests == [.openIDConfiguration, .token])
            #expect(fixture.provider.log(.authorization).first?.query.names.contains("nonce") == false)
        }
    }

    @Test func `the scope is the granted one, or the requested one if the response has none`() async throws {
        try await withDesk { fixture in
            let granted = try await fixture.login("--scope", "openid email unknown").result()
            #expect(granted["scope"]?.string == "openid email")
            fixture.provider.fault(.editDocument { $0["scope"] = nil }, at: .token)
            let asked = try await fixture.login("--scope", "openid email unknown").result()
            #expect(asked["scope"]?.string == "openid email unknown")
        }
    }

    @Test func `an access token without an expiry has none`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.editDocument { $0["expires_in"] = nil }, at: .token)
            let login = try await fixture.login()
            #expect(try login.result().isNull("access_token_expires_at"))
        }
    }

    @Test func `userinfo claims are printed with --userinfo`() async throws {
        try await withDesk { fixture in
            let result = try await fixture.login("--userinfo", "--scope", "openid email").result()
            #expect(result.object?.members.map(\.name).sorted() == (Self.members + ["userinfo"]).sorted())
            #expect(result["userinfo"]?["email"]?.string == "alice@example.com")
            #expect(fixture.ownRequests == [.openIDConfiguration, .token, .keys, .userInfo])
        }
    }

    @Test(arguments: [nil, "basic", "post"])
    func `a client authenticates with the secret in its file`(method: String?) async throws {
        try await withDesk { fixture in
            let file = fixture.home + "/secret"
            try "s3cret: 100% äß+/= and thirty-two\n".write(toFile: file, atomically: true, encoding: .utf8)
            let choice = method.map { ["--client-auth", $0] } ?? []
            let arguments = ["--client-secret-file", file] + choice
            let outcome = try await fixture.start(fixture.loginArguments(arguments, client: "demo-confidential"))
                .outcome()
            #expect(try outcome.result()["client_id"]?.string == "demo-confidential")
            let request = try #require(fixture.provider.log(.token).first)
            #expect((request.headers[.authorization] != nil) == (method != "post"))
            #expect((request.form["client_secret"] != nil) == (method == "post"))
        }
    }

    @Test func `options reach the provider, also values that begin with a dash`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resources = ["https://api.example/a", "https://api.example/b"]
        try await withDesk(configuration) { fixture in
            let outcome = try await fixture.login(
                "--prompt", "login consent", "--login-hint", "--alice", "--max-age", "600", "--acr-values",
                "urn:local-provider:password -b",
                "--ui-locales", "de en", "--resource", "https://api.example/a", "--resource", "https://api.example/b",
                "--param", "utm_campaign=a=b&c", "--param", "-x=-y")
            _ = try outcome.result()
            let query = try #require(fixture.provider.log(.authorization).first?.query)
            #expect(query["prompt"] == "login consent")
            #expect(query["login_hint"] == "--alice")
            #expect(query["max_age"] == "600")
            #expect(query["acr_values"] == "urn:local-provider:password -b")
            #expect(query["ui_locales"] == "de en")
            #expect(query.values("resource") == ["https://api.example/a", "https://api.example/b"])
            #expect(query["utm_campaign"] == "a=b&c")
            #expect(query["-x"] == "-y")
        }
    }

    @Test func `with --client-auth none the client sends only its client_id`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--client-auth", "none").result()
            let request = try #require(fixture.provider.log(.token).first)
            #expect(request.headers[.authorization] == nil && request.form["client_id"] == "demo")
            #expect(
                request.form.names.sorted() == ["client_id", "code", "code_verifier", "grant_type", "redirect_uri"])
            // The option counts, even for a confidential client.
            let outcome = try await fixture.login("--client-auth", "none", client: "demo-confidential")
            try outcome.failure(1, "invalid_client")
        }
    }

    @Test func `offline_access adds prompt=consent unless a prompt is given`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            #expect(fixture.provider.log(.authorization).last?.query["prompt"] == "consent")
            _ = try await fixture.login("--param", "prompt=select_account").result()
            #expect(fixture.provider.log(.authorization).last?.query.values("prompt") == ["select_account"])
        }
    }

    @Test func `no proxy is used for loopback`() async throws {
        try await withDesk { fixture in
            let nobody = "http://127.0.0.1:1"
            let proxies = ["http_proxy": nobody, "HTTP_PROXY": nobody, "https_proxy": nobody, "ALL_PROXY": nobody]
            _ = try await fixture.login(with: proxies).result()
        }
    }

    @Test func `the browser may end early, and standard input may be empty`() async throws {
        try await withDesk { fixture in
            let process = try fixture.start(fixture.loginArguments([]), ["BROWSER": "true"])
            try await Redirects(process).signIn()
            _ = try await process.outcome().result()
        }
    }
}

extension CommandFixture {
    /// The requests that were not a browser's.
    var ownRequests: [Endpoint] {
        provider.log.map(\.endpoint).filter { ![.authorization, .interaction, .endSession].contains($0) }
    }
}

extension String {
    var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
