import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// The command line that an error names works as it is printed.
@Suite(.timeLimit(.minutes(5)))
struct SignInAgainTests {
    /// Ends the only session, as the provider would, and returns the command line that the error names.
    private func commandAfterTheEnd(_ fixture: CommandFixture, _ options: [String] = []) async throws -> String {
        fixture.provider.fault(.oauthError("invalid_grant"), at: .token)
        let refused = try await fixture.start(["token", "--force-refresh", "--json"] + options).outcome()
        let message = try refused.failure(1, "sign_in_required")
        return try #require(message.advised(by: " with: "), "\(message)")
    }

    private func start(_ line: String, _ fixture: CommandFixture) throws -> ChildProcess {
        try fixture.start(["sh", "-c", "cd \"$HOME\" && \(line) --json"], [])
    }

    private func endpoints(_ fixture: CommandFixture) -> [String] {
        [
            "--authorization-endpoint", fixture.provider.url(.authorization), "--token-endpoint",
            fixture.provider.url(.token), "--client-id", "demo",
        ]
    }

    @Test func `the command line repeats the options of the network`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            // A flag that sign-in commands do not have is no name of an option with a value.
            let line = try await commandAfterTheEnd(fixture, ["--id-token", "--proxy-auth", "ntlm"])
            #expect(line.hasSuffix(" --proxy-auth ntlm"), "\(line)")
        }
    }

    /// Signs in, ends the session, runs the printed command, and expects a session for the same.
    private func expectTheSame(_ login: [String], _ fixture: CommandFixture, contains words: String) async throws {
        let first = try await fixture.start(["login", "--json"] + login).outcome().result()
        let store = login.firstIndex(of: "--store").map { Array(login[$0...($0 + 1)]) } ?? []
        let line = try await commandAfterTheEnd(fixture, store)
        #expect(line.contains(words), "\(line)")
        let second = try await start(line, fixture).outcome().result()
        for name in ["issuer", "client_id", "scope", "has_refresh_token"] {
            #expect(first[name] == second[name], "\(line)")
        }
        _ = try await fixture.start(["token", "--force-refresh", "--json"] + store).outcome().result()
    }

    /// `--issuer` would be the user's agreement to whatever page that issuer names later (RFC 9700 §4.4).
    @Test func `an issuer that a resource named is left to the resource`() async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = .init(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            let url = fixture.provider.url(.api)
            try await expectTheSame(["--resource", url], fixture, contains: "--resource \(url)")
            let line = try await commandAfterTheEnd(fixture)
            #expect(!line.contains("--issuer") && !line.contains("--client-id"), "\(line)")
            #expect(fixture.provider.count(.clientRegistration) == 1)
            // The user has named it.
            let named = ["login", "--json", "--issuer", fixture.issuer, "--resource", url]
            _ = try await fixture.start(named).outcome().result()
            #expect(try await commandAfterTheEnd(fixture).contains("--issuer \(fixture.issuer) "))
        }
    }

    @Test(arguments: ["offline_access", "profile offline_access"])
    func `a session without an ID token asks for none again`(scope: String) async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = .init(scopes: [])
        try await withDesk(configuration) { fixture in
            fixture.provider.fault(
                .editDocument { document in
                    document["jwks_uri"] = nil
                    document["scopes_supported"] = nil
                }, at: .openIDConfiguration, times: nil)
            let named = ["login", "--json", "--issuer", fixture.issuer, "--resource", fixture.provider.url(.api)]
            let first = try await fixture.start(named + ["--scope", scope]).outcome().result()
            let line = try await commandAfterTheEnd(fixture)
            let second = try await start(line, fixture).outcome().result()
            #expect(first["scope"] == second["scope"] && first["client_id"] == second["client_id"], "\(line)")
        }
    }

    @Test func `a public client needs nothing else`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let line = try await commandAfterTheEnd(fixture)
            #expect(line == "sign-in login --issuer \(fixture.issuer) --client-id demo")
            _ = try await start(line, fixture).outcome().result()
        }
    }

    @Test func `the scopes that are not the default ones are named`() async throws {
        try await withDesk { fixture in
            try await expectTheSame(
                ["--issuer", fixture.issuer, "--client-id", "demo", "--scope", "openid email offline_access"], fixture,
                contains: "--scope 'openid email offline_access'")
        }
    }

    @Test(arguments: [["--dpop"], ["--redirect-host", "localhost"], ["--redirect-path", "/other"]])
    func `the key and the redirect URI are named`(options: [String]) async throws {
        try await withDesk { fixture in
            try await expectTheSame(
                ["--issuer", fixture.issuer, "--client-id", "demo"] + options, fixture,
                contains: options.joined(separator: " "))
        }
    }

    @Test(arguments: [[], ["--redirect-path", "/other"]])
    func `the redirect URI is named if it is not the one that the registered client uses`(options: [String])
        async throws
    {
        try await withDesk { fixture in
            let uris = ["/callback", "/other"].flatMap { ["--redirect-uri", "http://127.0.0.1" + $0] }
            let register = ["register", "--json", "--issuer", fixture.issuer] + uris
            _ = try await fixture.start(register).outcome().result()
            try await expectTheSame(["--issuer", fixture.issuer] + options, fixture, contains: "--client-id")
            let line = try await commandAfterTheEnd(fixture)
            #expect(line.contains("--redirect") == !options.isEmpty, "\(line)")
            let used = fixture.provider.log(.authorization).compactMap { $0.query["redirect_uri"] }
            #expect(used.allSatisfy { $0.hasSuffix(options.last ?? "/callback") }, "\(used)")
        }
    }

    @Test(arguments: [(32767, true), (32768, false)])
    func `a port that the kernel may have chosen is not named`(port: Int, isNamed: Bool) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            try CommandFixture.editSession(at: path) {
                $0["redirectURI"] = .string("http://127.0.0.1:\(port)/callback")
            }
            let line = try await commandAfterTheEnd(fixture)
            #expect(line.hasSuffix(" --client-id demo" + (isNamed ? " --redirect-port \(port)" : "")), "\(line)")
        }
    }

    /// Where an option of `login` is named again, if the session has ended.
    private enum Repetition {
        /// In the line that the error names, as the session has it.
        case line
        /// In what the profile remembers. A session does not hold how its authorization request was decorated.
        case profile
        /// Nowhere: it says what to print, how long to wait, or what to replace in this call.
        case nowhere
    }

    private static let repetitions: [String: Repetition] = [
        "--issuer": .line, "--preset": .line, "--metadata-url": .line, "--authorization-endpoint": .line,
        "--token-endpoint": .line,
        "--device-endpoint": .line, "--client-id": .line, "--client-secret-file": .line, "--client-key": .line,
        "--client-assertion-file": .line, "--client-auth": .line, "--assertion-audience": .line,
        "--client-document": .line, "--scope": .line, "--redirect-host": .line, "--redirect-path": .line,
        "--redirect-port": .line, "--redirect-https": .line, "--redirect-uri": .line, "--resource": .line,
        "--dpop": .line,
        "--key-in": .line,
        "--store": .line,
        "--profile": .line, "--ca-file": .line, "--proxy-auth": .line,
        "--trusted-audience": .line, "--from": .line,
        "--prompt": .profile, "--login-hint": .profile, "--max-age": .profile, "--acr-values": .profile,
        "--ui-locales": .profile, "--param": .profile, "--par": .profile, "--no-browser": .profile,
        "--redirect-key": .profile,
        // Only for a session that nothing else names.
        "--no-profile": .nowhere,
        "--userinfo": .nowhere, "--replace-store": .nowhere, "--json": .nowhere, "--verbose": .nowhere,
        "--explain": .nowhere, "--timeout": .nowhere, "--version": .nowhere, "--help": .nowhere,
    ]

    @Test func `each option of login is in the line or in the profile, or is for one call`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.resources.append("https://api.example/")
        try await withDesk(configuration) { fixture in
            let help = try await fixture.run("login", "--help").output
            let options = help.matches(of: /(?m)^  (?:-h, )?(--[a-z-]+)/).map { String($0.1) }
            #expect(Set(options) == Set(Self.repetitions.keys))

            let line = [
                "--scope", "'openid email offline_access'", "--redirect-host", "localhost", "--redirect-path", "/other",
                "--resource", "https://api.example/", "--dpop", "--trusted-audience", "urn:api",
            ]
            let profile = [
                "--prompt", "consent", "--login-hint", "alice", "--max-age", "600", "--ui-locales", "en", "--param",
                "audience=x", "--par", "--acr-values", "urn:local-provider:password",
            ]
            let login = fixture.loginArguments([]) + (line + profile).map { $0.replacing("'", with: "") }
            let first = try await fixture.start(login).outcome()
            #expect(try first.result()["has_refresh_token"] == true, "\(first)")
            let shown = try await commandAfterTheEnd(fixture)
            for option in line { #expect(shown.contains(option), "\(option): \(shown)") }
            for option in profile where option.hasPrefix("--") {
                #expect(Self.repetitions[option] == .profile && !shown.contains(option), "\(shown)")
            }
            _ = try await fixture.start(login + ["--profile", "work"]).outcome().result()
            let remembered = try String(contentsOfFile: fixture.sessions + "/work.profile", encoding: .utf8)
            for word in profile { #expect(remembered.contains("\"\(word)\""), "\(remembered)") }
        }
    }

    @Test func `a scope that the provider does not list is not requested`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(
                .editDocument { $0["scopes_supported"] = ["openid", "profile"] }, at: .openIDConfiguration, times: nil)
            try await fixture.signIn()
            try fixture.expire()
            let message = try await fixture.run("token", "--json").failure(1, "no_refresh_token")
            #expect(message.hasSuffix(" with: sign-in login --issuer \(fixture.issuer) --client-id demo"), "\(message)")
        }
    }

    @Test func `the path of a profile's session is not repeated beside the profile`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            let store = "file:\(fixture.sessions)/work.json"
            let line = try await commandAfterTheEnd(fixture, ["--store", store])
            #expect(line == "sign-in login --profile work")
            _ = try await start(line, fixture).outcome().result()
            let other = try await fixture.run("token", "--json", "--store", "file:\(fixture.sessions)/foo.json")
            #expect(try other.failure(1, "sign_in_required").contains("Sign in with: sign-in login"), "\(other)")
        }
    }

    @Test(arguments: [[], ["--client-auth", "post"], ["--client-auth", "client_secret_jwt"]])
    func `a client's secret and its method are named`(method: [String]) async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/FILE"
            try Data(try #require(RegisteredClient.demoConfidential.secret).utf8).write(to: URL(filePath: path))
            let client = ["--issuer", fixture.issuer, "--client-id", "demo-confidential", "--client-secret-file", path]
            let words = (["--client-secret-file", "FILE"] + method).joined(separator: " ")
            try await expectTheSame(client + method, fixture, contains: words)
        }
    }

    @Test func `a client's key and the audience of its assertion are named`() async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = LocalProvider.Configuration.demo
        configuration.requiresTokenEndpointAudience = true
        configuration.clients.append(RegisteredClient(id: "keyed", keys: [key.publicKey], redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            let path = fixture.home + "/key"
            try Data(key.pem.utf8).write(to: URL(filePath: path))
            let options = ["--client-key", path, "--assertion-audience", "token-endpoint"]
            try await expectTheSame(
                ["--issuer", fixture.issuer, "--client-id", "keyed", "--store", "file:\(fixture.home)/session"]
                    + options, fixture, contains: options.joined(separator: " "))
        }
    }

    @Test func `the endpoints of a provider without discovery are named`() async throws {
        try await withDesk { fixture in
            fixture.provider.fault(.status(.notFound), at: .openIDConfiguration, times: nil)
            try await expectTheSame(
                endpoints(fixture) + ["--scope", "offline_access"], fixture,
                contains: "--token-endpoint \(fixture.provider.url(.token))")
        }
    }

    @Test func `a preset is named`() async throws {
        try await withDesk(.gitHub) { fixture in
            let options = ["--preset", "github", "--issuer", fixture.issuer] + endpoints(fixture)
            try await expectTheSame(options + ["--scope", "profile email"], fixture, contains: "--preset github")
        }
    }

    @Test func `a session of a device is one again`() async throws {
        try await withDesk(.device) { fixture in
            let first = try fixture.device()
            try await DeviceCode(first).decide("allow")
            _ = try await first.outcome().result()
            let second = try start(try await commandAfterTheEnd(fixture), fixture)
            try await DeviceCode(second).decide("allow")
            _ = try await second.outcome().result()
        }
    }

    @Test func `a registered client's credentials are known, and its resource is named`() async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = .init(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            let url = fixture.provider.url(.api)
            fixture.provider.fault(
                .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_post"] },
                at: .openIDConfiguration)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            let files = fixture.stored
            let line = try await commandAfterTheEnd(fixture)
            let again = try await start(line, fixture).outcome().result()
            #expect(again["scope"] == "offline_access api" && fixture.stored == files, "\(line)")
            #expect(try await fixture.run("request", "GET", url, "--json").result()["status"] == 200)
        }
    }

    @Test(arguments: [[], ["--profile", "work"]])
    func `without a refresh token, the command asks for one`(options: [String]) async throws {
        try await withDesk { fixture in
            _ = try await fixture.start(fixture.loginArguments(["--scope", "openid"] + options)).outcome().result()
            let refused = try await fixture.start(["token", "--force-refresh", "--json"] + options).outcome()
            let message = try refused.failure(1, "no_refresh_token")
            let line = try #require(message.firstRange(of: " with: ").map { String(message[$0.upperBound...]) })
            #expect(line.contains("--scope 'openid offline_access'"), "\(message)")
            #expect(try await start(line, fixture).outcome().result()["has_refresh_token"] == true)
        }
    }

    @Test func `for a profile that does not exist, the known ones are named, and no command`() async throws {
        try await withDesk { fixture in
            let nothing = try await fixture.run("token", "--json").failure(1, "sign_in_required")
            #expect(
                nothing.hasPrefix("not signed in: there is no session in \(fixture.sessions). Sign in with"),
                "\(nothing)")
            let first = try await fixture.run("token", "--json", "--profile", "wrok").failure(1, "sign_in_required")
            let place = "not signed in: there is no profile in \(fixture.sessions) yet. To create 'wrok', sign in"
            #expect(first.hasPrefix(place), "\(first)")
            try await fixture.signIn(profile: "work")
            let other = try await fixture.run("token", "--json", "--profile", "wrok").failure(1, "sign_in_required")
            #expect(other == "not signed in: there is no profile 'wrok': expected work")
        }
    }

    /// The client id of a registration is the server's choice.
    @Test(arguments: ["x'\\'';touch pwned;'", "a\\' ; touch pwned ; '", "!!`touch pwned`$(touch pwned)", "=ls", "~"])
    func `a hostile client id runs nothing in any shell, and the line signs in`(id: String) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: id, redirectURIs: [.anyLoopback]))
        configuration.clients.append(RegisteredClient(id: id + "2", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(client: id)
            let line = try await commandAfterTheEnd(fixture)
            for shell in ["sh", "bash", "zsh", "fish"] {
                let outcome = try await fixture.start([shell, "-c", "cd $HOME; \(line) --json"], []).outcome()
                #expect(try outcome.result()["client_id"]?.string == id, "\(shell): \(line)")
            }
            try await fixture.signIn(client: id + "2")
            let choices = try await fixture.run("token", "--json").wrongUsage()
            let choice = try #require(
                choices.components(separatedBy: "choose one: ").last?.components(separatedBy: ", or ").first)
            for shell in ["sh", "bash", "zsh", "fish"] {
                let outcome = try await fixture.start([shell, "-c", "cd $HOME; sign-in token --json \(choice)"], [])
                    .outcome()
                _ = try outcome.result()
            }
            #expect(!FileManager.default.fileExists(atPath: fixture.home + "/pwned"))
        }
    }

    @Test(arguments: [("a\ntouch pwned\n", "control characters"), ("a\u{202E}b", "invisible characters")])
    func `a client id with a character that a terminal does not show is not in the line`(id: String, what: String)
        async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: id, redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn(client: id)
            let line = try await commandAfterTheEnd(fixture)
            #expect(line == "(a line that is not shown, because the value of --client-id has \(what))")
        }
    }
}
