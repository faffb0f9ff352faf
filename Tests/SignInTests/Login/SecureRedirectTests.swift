import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// Sign-ins at a provider that accepts only an https redirect URI, also on loopback.
@Suite(.timeLimit(.minutes(5)))
struct SecureRedirectTests {
    /// A user with a certificate, and the redirect URI that is registered for the client.
    private struct Desk {
        let fixture: CommandFixture
        let files: TLSFiles
        let port: String
        var uri: String { "https://localhost:\(port)/callback" }
        /// The options of the redirect URI, without those of the certificate.
        var address: [String] { ["--redirect-host", "localhost", "--redirect-port", port] }
        var options: [String] { address + ["--redirect-https", files.certificate, "--redirect-key", files.key] }
        /// What the browser trusts.
        var trust: [String: String?] { ["CURL_CA_BUNDLE": files.certificate] }

        func run(_ arguments: [String]) async throws -> Outcome {
            try await fixture.start(arguments, trust).outcome()
        }

        func login(_ options: [String]) async throws -> Outcome { try await run(fixture.loginArguments(options)) }
    }

    private func withDesk(_ test: (Desk) async throws -> Void) async throws {
        let port = "\(freePort())"
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].redirectURIs = [.exact("https://localhost:\(port)/callback")]
        configuration.clients[0].postLogoutRedirectURIs = configuration.clients[0].redirectURIs
        try await SignInTests.withDesk(configuration) { fixture in
            try await withCertificate { try await test(Desk(fixture: fixture, files: $0, port: port)) }
        }
    }

    @Test func `login and logout come back by https, and the key is in no stored file`() async throws {
        try await withDesk { desk in
            let outcome = try await desk.login(desk.options)
            _ = try outcome.result()
            #expect(desk.fixture.provider.log(.authorization).first?.query["redirect_uri"] == desk.uri)
            let opened = try #require(desk.fixture.browser.visits.first?.last)
            #expect(opened.hasPrefix("https://localhost:\(desk.port)/open/"), "\(opened)")
            #expect(try await desk.fixture.browser.page().contains("You are signed in"))
            // Two lines about the URL and one about the wait.
            #expect(!outcome.errors.contains("private key"), "\(outcome)")

            let arguments = [
                "logout", "--json", "--redirect-https", desk.files.certificate, "--redirect-key", desk.files.key,
            ]
            #expect(try await desk.run(arguments).result()["session_ended"] == true)
            #expect(desk.fixture.provider.log(.endSession).first?.query["post_logout_redirect_uri"] == desk.uri)
            #expect(try await desk.fixture.browser.page(2).contains("You are signed out"))
        }
    }

    @Test func `a profile remembers the paths of mkcert's two files, and logout uses them`() async throws {
        try await withDesk { desk in
            let fixture = desk.fixture
            for (from, to) in [(desk.files.certificate, "localhost+2.pem"), (desk.files.key, "localhost+2-key.pem")] {
                try FileManager.default.copyItem(atPath: from, toPath: "\(fixture.home)/\(to)")
            }
            let login = fixture.loginArguments(
                desk.address + ["--redirect-https", "localhost+2.pem", "--profile", "work"])
            let start = ["sh", "-c", #"cd "$HOME" && exec "$0" "$@""#, try BuiltProducts.path("sign-in")]
            _ = try await fixture.start(start, login, desk.trust).outcome().result()
            let remembered = try String(contentsOfFile: fixture.sessions + "/work.profile", encoding: .utf8)
            #expect(remembered.contains("\"\(fixture.home)/localhost+2.pem\""), "\(remembered)")
            let key = try String(contentsOfFile: desk.files.key, encoding: .utf8).split(separator: "\n")[1]
            for name in fixture.stored {
                let text = try String(contentsOfFile: "\(fixture.sessions)/\(name)", encoding: .utf8)
                #expect(!text.contains(key), "\(name)")
            }
            #expect(try await desk.run(["logout", "--json", "--profile", "work"]).result()["session_ended"] == true)
            _ = try await desk.run(["login", "--json", "--profile", "work"]).result()
        }
    }

    @Test func `without the certificate, logout leaves the browser at the provider and says why`() async throws {
        try await withDesk { desk in
            _ = try await desk.login(desk.options).result()
            let outcome = try await desk.run(["logout", "--json"])
            #expect(try outcome.result()["session_ended"] == false && desk.fixture.stored.isEmpty)
            #expect(outcome.errors.contains("an https address needs the certificate of the sign-in"), "\(outcome)")
            let end = try #require(desk.fixture.provider.log(.endSession).first)
            #expect(end.query["post_logout_redirect_uri"] == nil && end.query["id_token_hint"] != nil)
        }
    }

    @Test func `a certificate that cannot work ends the sign-in before the browser opens`() async throws {
        try await withDesk { desk in
            let certificate = desk.files.certificate
            for (options, words) in [
                (desk.address + ["--redirect-https", "/none.pem"], "/none.pem: No such file"),
                (
                    desk.address + ["--redirect-https", certificate],
                    "private key in PEM, not encrypted, in \(certificate)"
                ),
                (["--redirect-host", "[::1]"] + desk.options.dropFirst(2), "is not for [::1], so a browser"),
            ] {
                let message = try await desk.login(options).failure(1, "invalid_configuration")
                #expect(message.contains(words), "\(message)")
            }
            #expect(desk.fixture.browser.visits.isEmpty && desk.fixture.stored.isEmpty)
        }
    }

    @Test func `only TLS 1.2 and newer are accepted, even if OpenSSL is configured for less`() async throws {
        try await withDesk { desk in
            let configuration = desk.fixture.home + "/openssl.cnf"
            let lines = [
                "openssl_conf = a", "[a]", "ssl_conf = b", "[b]", "system_default = c", "[c]", "MinProtocol = TLSv1",
                "CipherString = DEFAULT@SECLEVEL=0", "",
            ]
            try lines.joined(separator: "\n").write(toFile: configuration, atomically: true, encoding: .utf8)
            let process = try desk.fixture.start(
                desk.fixture.loginArguments(["--no-browser"] + desk.options), ["OPENSSL_CONF": configuration])
            defer { process.send(SIGTERM) }
            _ = try await Redirects(process)
            for (version, isAccepted) in [("-tls1_1", false), ("-tls1_2", true)] {
                let client = ["openssl", "s_client", version, "-connect", "localhost:\(desk.port)"]
                let outcome = try await desk.fixture.start(client, [], ["OPENSSL_CONF": configuration]).outcome()
                #expect((outcome.status == 0) == isAccepted, "\(outcome)")
            }
        }
    }

    @Test func `a key that other users can read brings a warning`() async throws {
        try await withDesk { desk in
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: desk.files.key)
            let outcome = try await desk.login(desk.options)
            _ = try outcome.result()
            let words = "Other users of this computer can read the private key of the redirect address: chmod go-rwx "
            #expect(outcome.errorLines.contains("\(words)\(desk.files.key)."), "\(outcome)")
        }
    }

    @Test func `if the browser refuses the certificate, the wait goes on and says so`() async throws {
        try await withDesk { desk in
            let process = try desk.fixture.start(desk.fixture.loginArguments(desk.options + ["--timeout", "10"]))
            _ = try await process.line { $0.hasPrefix("A browser refused the certificate of the address") }
            try await process.outcome().failure(1, "timeout")
        }
    }

    @Test(arguments: [
        (["--redirect-key", "key.pem"], "--redirect-key needs --redirect-https"),
        (
            ["--redirect-https", "c.pem", "--redirect-uri", "com.example.app:/callback"],
            "--redirect-uri cannot be combined"
        ),
    ])
    func `options that do not go together are wrong usage`(options: [String], words: String) async throws {
        try await withDesk { desk in
            #expect(try await desk.login(options).wrongUsage().contains(words))
            guard options[0] == "--redirect-key" else { return }
            let logout = try await desk.run(["logout", "--json"] + options)
            #expect(try logout.wrongUsage().contains(words))
        }
    }

    @Test func `the line that signs in again has the certificate's option`() async throws {
        try await withDesk { desk in
            _ = try await desk.login(desk.options).result()
            desk.fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
            let ended = try await desk.run(["token", "--force-refresh", "--json"]).failure(1, "sign_in_required")
            #expect(
                ended.hasSuffix("--redirect-https FILE --redirect-host localhost --redirect-port \(desk.port)"),
                "\(ended)")
        }
    }

    @Test func `a registered https address needs the certificate, and is used with it`() async throws {
        try await withDesk { desk in
            let fixture = desk.fixture
            let register = ["register", "--json", "--issuer", fixture.issuer, "--redirect-uri", desk.uri]
            _ = try await desk.run(register).result()
            let login = ["login", "--json", "--issuer", fixture.issuer]
            let message = try await desk.run(login).wrongUsage()
            #expect(message.contains("\(desk.uri) needs a certificate: name it with --redirect-https"), "\(message)")
            let certificate = Array(desk.options.dropFirst(4))
            _ = try await desk.run(login + certificate).result()
            #expect(fixture.provider.log(.authorization).last?.query["redirect_uri"] == desk.uri)
        }
    }

    @Test func `an https address is not taken for the http one that is registered for sign-outs`() async throws {
        try await withDesk { desk in
            let (fixture, plain) = (desk.fixture, "http://localhost:\(desk.port)/callback")
            fixture.provider.fault(
                .editDocument { $0["post_logout_redirect_uris"] = [.string(plain)] }, at: .clientRegistration)
            let provider = ["--json", "--issuer", fixture.issuer]
            _ = try await desk.run(["register", "--redirect-uri", desk.uri, "--redirect-uri", plain] + provider)
                .result()
            let certificate = Array(desk.options.dropFirst(4))
            _ = try await desk.run(["login"] + provider + certificate).result()
            #expect(fixture.provider.log(.authorization).last?.query["redirect_uri"] == desk.uri)
            #expect(try await desk.run(["logout", "--json"] + certificate).result()["session_ended"] == true)
            #expect(fixture.provider.log(.endSession).first?.query["post_logout_redirect_uri"] == plain)
        }
    }

    @Test func `a step-up uses the certificate of the profile`() async throws {
        try await withDesk { desk in
            let provider = desk.fixture.provider
            _ = try await desk.login(desk.options + ["--profile", "work"]).result()
            let challenge = #"Bearer error="insufficient_scope", scope="admin""#
            provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api)
            let request = ["request", provider.url(.api), "--json", "--profile", "work", "--step-up-at"]
            #expect(try await desk.run(request + [desk.fixture.issuer]).result()["status"] == 200)
            #expect(provider.log(.authorization).map { $0.query["redirect_uri"] } == [desk.uri, desk.uri])
        }
    }

    @Test func `doctor checks the certificate of the redirect URI`() async throws {
        try await withDesk { desk in
            let doctor = ["doctor", "--json", "--issuer", desk.fixture.issuer, "--client-id", "demo"]
            // The browser has a list of authorities of its own.
            let well = try await desk.fixture.start(doctor + desk.options).outcome().result()
            #expect(well["ok"] == true, "\(well)")
            let report = try await desk.run(doctor + desk.address + ["--redirect-https", "/none.pem"]).json()
            #expect(report["findings"]?.array?.map { $0["name"]?.string } == ["client-configuration"], "\(report)")
        }
    }
}
