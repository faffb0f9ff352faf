import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// `--resource` without `--issuer`: the resource says where to sign in (RFC 9728).
@Suite(.timeLimit(.minutes(5)))
struct ResourceTests {
    private func run(
        _ description: ResourceDescription = .init(scopes: ["api"]),
        _ change: (inout LocalProvider.Configuration) -> Void = { _ in },
        _ body: (CommandFixture, String) async throws -> Void
    ) async throws {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = description
        change(&configuration)
        try await withDesk(configuration) { fixture in try await body(fixture, fixture.provider.url(.api)) }
    }

    @Test func `a client that the user has registered at the named issuer is used, and the resource is not asked`()
        async throws
    {
        try await withResource { fixture, server, url in
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            let client = try await fixture.start(register).outcome().result()["client_id"]
            let line = ["login", "--json", "--issuer", fixture.issuer, "--resource", url]
            #expect(try await fixture.start(line).outcome().result()["client_id"] == client)
            #expect(server.requests.isEmpty)
        }
    }

    /// Otherwise a helper or proxy with its name would follow it there, with the token of another server.
    @Test(arguments: ["login", "device"])
    func `a profile is not given to another provider, resource or store before it is forgotten`(
        command: String
    ) async throws {
        try await withResource { fixture, server, url in
            try await fixture.signIn(profile: "work")
            let name = ["--profile", "work"]
            let client = ["--client-id", "demo"]
            for line in [
                ["--resource", url] + name, ["--issuer", "https://op.example"] + client + name,
                ["--issuer", fixture.issuer, "--store", "file:\(fixture.home)/elsewhere.json"] + client + name,
                ["--issuer", fixture.issuer, "--resource", url] + client + name,
            ] {
                let message = try await fixture.start([command, "--json"] + line).outcome()
                    .failure(1, "session_replaced")
                #expect(
                    message.hasPrefix("the profile 'work' signs in with --issuer \(fixture.issuer) only")
                        && message.hasSuffix("sign-in logout --profile work --forget"), "\(message)")
            }
            // Nor is its session replaced under another name.
            for place in ["--profile=play", "--json"] {
                let store = "file:\(fixture.sessions)/work.json"
                try await fixture.start([command, "--json", "--resource", url, "--store", store, place]).outcome()
                    .failure(1, "session_replaced")
            }
            #expect(server.requests.isEmpty && fixture.provider.count(.openIDConfiguration) == 1)
            _ = try await fixture.login("--profile", "work", "--scope", "openid").result()
            _ = try await fixture.run("logout", "--profile", "work", "--forget", "--revoke-only", "--json").result()
            let line = ["login", "--json", "--resource", url, "--scope", "openid"] + name
            _ = try await fixture.start(line).outcome().result()
            #expect(try await fixture.run("status", "--json", "--profile", "work").result() != .null)
        }
    }

    @Test func `the resource alone suffices to sign in, register and use it`() async throws {
        try await run { fixture, url in
            let outcome = try await fixture.run("login", "--json", "--resource", url)
            let session = try outcome.result()
            #expect(session["issuer"]?.string == fixture.issuer && session["scope"] == "offline_access api")
            #expect(session.isNull("id_token_claims") && session["has_refresh_token"] == true)
            #expect(outcome.errorLines.first == "\(url) is protected by \(fixture.issuer).")
            let id = try #require(session["client_id"]?.string)
            #expect(outcome.errorLines.contains("Registered there as \(id)."))
            let registered = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            #expect(registered["scope"] == "api offline_access" && registered["client_name"] == "sign-in")
            let requested = try #require(fixture.provider.log(.authorization).first?.query)
            #expect(requested.values("resource") == [url] && requested["scope"] == "api offline_access")
            #expect(fixture.provider.log(.token).first?.form.values("resource") == [url])
            let response = try await fixture.run("request", "GET", url, "--json").result()
            #expect(response["status"] == 200)

            // The client is kept, and its registered redirect URI is used again.
            let again = try await fixture.run("login", "--json", "--resource", url)
            #expect(try again.result()["client_id"]?.string == id)
            #expect(fixture.provider.count(.clientRegistration) == 1)
            let uris = fixture.provider.log(.authorization).compactMap { $0.query["redirect_uri"] }
            #expect(Set(uris).count == 1)
        }
    }

    @Test func `a registered client may be named, and its redirect URI stays the one of this issuer`() async throws {
        try await run { fixture, url in
            let login = ["login", "--json", "--resource", url]
            let id = try await fixture.start(login).outcome().result()["client_id"]?.string
            for issuer in [[], ["--issuer", fixture.issuer]] {
                let named = ["--client-id", try #require(id), "--redirect-path", "/callback"] + issuer
                _ = try await fixture.start(login + named).outcome().result()
            }
            let paths = fixture.provider.log(.authorization).compactMap { request in
                request.query["redirect_uri"].flatMap { try? SecureURL($0).path }
            }
            #expect(Set(paths).count == 1 && paths[0] != "/callback", "\(paths)")
        }
    }

    @Test(arguments: [
        (["--redirect-path", "/a"], ["127.0.0.1/*/a"]),
        (["--redirect-host", "both"], ["127.0.0.1/*/callback", "[::1]/*/callback"]),
        (["--redirect-port", "PORT"], ["127.0.0.1:PORT/*/callback"]),
    ])
    func `the redirect URIs that the options name are registered`(options: [String], expected: [String]) async throws {
        try await run { fixture, url in
            let port = String(freePort())
            let options = options.map { $0.replacing("PORT", with: port) }
            _ = try await fixture.start(["login", "--json", "--resource", url] + options).outcome().result()
            let sent = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            let uris = sent["redirect_uris"]?.strings?.map { $0.replacing(/\/[\w-]{22}\//, with: "/*/") }
            #expect(uris == expected.map { "http://" + $0.replacing("PORT", with: port) })
        }
    }

    @Test func `a device signs in for a resource`() async throws {
        try await run { fixture, url in
            // The second time, with the client that the first has registered.
            for options in [[], ["--issuer", fixture.issuer]] {
                let process = try fixture.start(["device", "--json", "--resource", url] + options)
                try await DeviceCode(process).decide("allow")
                #expect(try await process.outcome().result()["issuer"]?.string == fixture.issuer)
            }
            #expect(fixture.provider.count(.clientRegistration) == 1)
            #expect(fixture.provider.log(.deviceAuthorization).first?.form.values("resource") == [url])
            #expect(fixture.provider.log(.token).allSatisfy { $0.form.values("resource") == [url] })
            #expect(try await fixture.run("request", "GET", url, "--json").result()["status"] == 200)
        }
    }

    @Test func `a pasted address signs in for a resource`() async throws {
        try await run { fixture, url in
            let typing = try Typing()
            let process = try fixture.start(
                ["login", "--json", "--no-browser", "--resource", url], input: typing.input)
            typing.write(try await Redirects(process).signInElsewhere() + "\n")
            let outcome = try await process.outcome()
            #expect(try outcome.result()["issuer"]?.string == fixture.issuer)
            let device = try #require(outcome.errorLines.first { $0.contains("sign-in device") })
            // The client's ID is the server's word, and would be the user's at whichever server the resource names then.
            #expect(device.contains("--resource \(url)") && !device.contains("--client-id"))
        }
    }

    @Test func `a client that the user names is used, without a registration`() async throws {
        try await run { fixture, url in
            let session = try await fixture.run("login", "--json", "--resource", url, "--client-id", "demo").result()
            #expect(session["client_id"] == "demo" && fixture.provider.count(.clientRegistration) == 0)
            // The user has registered the redirect URI.
            let uri = try #require(fixture.provider.log(.authorization).first?.query["redirect_uri"])
            #expect(try SecureURL(uri).path == "/callback")
        }
    }

    @Test func `with the issuer and the client, the resource is not asked`() async throws {
        try await run { fixture, url in
            _ = try await fixture.login("--resource", url).result()
            #expect(fixture.provider.count(.api) == 0 && fixture.provider.count(.resourceMetadata) == 0)
            let process = try fixture.device("--resource", url)
            try await DeviceCode(process).decide("allow")
            _ = try await process.outcome().result()
            #expect(fixture.provider.count(.api) == 0)
        }
    }

    @Test func `the issuer must be one that the resource names`() async throws {
        var description = ResourceDescription(scopes: ["api"])
        description.authorizationServers = ["https://a.example", "https://b.example", "https://a.example"]
        try await run(description) { fixture, url in
            let several = try await fixture.run("login", "--json", "--resource", url).wrongUsage()
            let text = try await fixture.run("login", "--resource", url)
            #expect(text.status == 2 && text.errorLines.count == 5, "\(text)")
            #expect(text.errorLines[0].hasPrefix("sign-in: \(url) has several") && text.errorLines[0].hasSuffix(":"))
            let lines = ["a", "b"].flatMap { host in
                [
                    "  \(host).example, whose metadata could not be fetched:",
                    "    sign-in login --resource \(url) --scope api --issuer https://\(host).example",
                ]
            }
            #expect(Array(text.errorLines.dropFirst()) == lines, "\(text)")
            let line = "sign-in login --json --resource \(url) --scope api --issuer https://"
            let choices = ["a", "b"].map { "\($0).example, whose metadata could not be fetched: \(line)\($0).example" }
            #expect(several.contains(choices.joined(separator: ", or ")), "\(several)")
            for command in ["login", "device"] {
                let other = try await fixture.run(
                    command, "--json", "--resource", url, "--issuer", fixture.issuer)
                try other.failure(1, "issuer_mismatch")
            }
            let asked = [fixture.provider.count(.api), fixture.provider.count(.resourceMetadata)]
            #expect(asked == [4, 4] && fixture.provider.log.count == 8)
        }
        description.authorizationServers = nil
        try await run(description) { fixture, url in
            let chosen = try await fixture.run("login", "--json", "--resource", url, "--issuer", fixture.issuer)
            #expect(try chosen.result()["issuer"]?.string == fixture.issuer)
        }
    }

    @Test(arguments: [false, true])
    func `a client that only a profile remembers is not used at another server`(isSignedOut: Bool) async throws {
        try await run { fixture, url in
            let login = ["login", "--json", "--resource", url, "--client-id", "demo", "--profile", "work"]
            _ = try await fixture.start(login).outcome().result()
            if isSignedOut {
                _ = try await fixture.start(["logout", "--json", "--local", "--profile", "work"]).outcome().result()
            }
            try await withLocalProvider(.demo) { other in
                let issuer = other.issuer
                fixture.provider.fault(
                    .editDocument { $0["authorization_servers"] = [.string(issuer)] }, at: .resourceMetadata, times: nil
                )
                let again = try await fixture.start(["login", "--json", "--profile", "work"]).outcome()
                let message = try again.failure(1, "issuer_mismatch")
                #expect(message.contains("belongs to \(fixture.issuer), and the resource is now"), "\(message)")
                #expect(other.count(.authorization) == 0)
            }
        }
    }

    @Test func `metadata about another resource, or none, ends the sign-in before the browser opens`() async throws {
        try await run { fixture, url in
            fixture.provider.fault(.editDocument { $0["resource"] = "https://other.example" }, at: .resourceMetadata)
            try await fixture.run("login", "--json", "--resource", url).failure(1, "resource_mismatch")
            for location in [Endpoint.resourceMetadata, .openIDConfiguration, .oauthMetadata] {
                fixture.provider.fault(.status(.notFound), at: location)
            }
            let missing = try await fixture.run("login", "--json", "--resource", url)
            #expect(try missing.failure(1, "invalid_response").contains("no metadata of the resource"))
            #expect(fixture.browser.visits.isEmpty && fixture.provider.count(.clientRegistration) == 0)
        }
    }

    @Test(arguments: [
        ["--resource", "https://a.example", "--resource", "https://b.example"],
        ["--resource", "https://a.example", "--client-document", "http://127.0.0.1/c"],
        ["--client-document", "https://app.example/client.json"],
    ])
    func `an impossible combination is wrong usage`(arguments: [String]) async throws {
        try await withDesk { fixture in
            try await fixture.start(["login", "--json"] + arguments).outcome().wrongUsage()
        }
    }

    @Test func `a request that lacks a scope names --step-up, and signing in with the scope satisfies the resource`()
        async throws
    {
        try await run { fixture, url in
            let login = ["login", "--json", "--resource", url, "--scope"]
            fixture.provider.fault(.editDocument { $0["scope"] = "profile" }, at: .clientRegistration)
            _ = try await fixture.start(login + ["profile"]).outcome().result()
            let refused = try await fixture.run("request", "GET", url)
            #expect(refused.status == 1, "\(refused)")
            #expect(refused.errorLines.last?.hasSuffix("repeat this command with --step-up.") == true, "\(refused)")
            _ = try await fixture.start(login + ["profile api"]).outcome().result()
            // The first client was registered for fewer scopes.
            #expect(fixture.provider.count(.clientRegistration) == 2)
        }
    }

    @Test(arguments: [true, false])
    func `a request steps up to the scopes that it needs`(areNamed: Bool) async throws {
        try await run { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url, "--scope", "profile offline_access")
                .result()
            let scope = areNamed ? #", scope="api""# : ""
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope""# + scope]), at: .api)
            let outcome = try await fixture.run("request", "GET", url, "--step-up", "--json")
            let response = try outcome.result()
            #expect(response["status"] == 200 && response["body"]?["scope"] == "profile offline_access api")
            let host = fixture.issuer.replacing("http://", with: "")
            #expect(
                outcome.errorLines.contains(
                    "\(host)/api/echo requires another sign-in: the scopes 'api'. Signing in again."))
            let requested = try #require(fixture.provider.log(.authorization).last?.query)
            #expect(requested.values("resource") == [url] && requested["scope"] == "profile offline_access api")
            #expect(fixture.stored.filter { $0.hasSuffix(".json") }.count == 1)
            #expect(fixture.provider.count(.clientRegistration) == 1)
            #expect(try await fixture.run("request", "GET", url, "--json").result()["status"] == 200)
        }
    }

    @Test func `a step-up keeps the session if the browser signs in another user`() async throws {
        try await run {
            $0.users.append(.bob)
        } _: { fixture, url in
            let login = fixture.loginArguments(["--resource", url, "--scope", "openid profile offline_access"])
            _ = try await fixture.start(login).outcome().result()
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="api""#]), at: .api)
            let outcome = try await fixture.run(
                "request", "GET", url, "--step-up", "--json",
                with: CommandFixture.bob)
            #expect(try outcome.failure(1, "session_replaced").contains("another user"))
            let stored = try await fixture.run("status", "--json").result()["sessions"]?.array?.first
            #expect(stored?["sub"] == "248289761001" && stored?["state"] == "signed_in")
        }
    }

    @Test(arguments: ["login", "device"])
    func `a secret needs its issuer, which no resource chooses`(command: String) async throws {
        try await run { fixture, url in
            try "s3cret".write(toFile: fixture.home + "/secret", atomically: true, encoding: .utf8)
            let options = [
                "--resource", url, "--client-id", "demo-confidential", "--client-secret-file", fixture.home + "/secret",
            ]
            let message = try await fixture.start([command, "--json"] + options).outcome().wrongUsage()
            #expect(message.contains("name its --issuer"), "\(message)")
            #expect(fixture.provider.count(.api) == 0)
        }
    }

    @Test func `a resource has a client and a session of its own`() async throws {
        var other = LocalProvider.Configuration.demo
        other.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withLocalProvider(other) { second in
            try await run {
                $0.resources.append(second.url(.api))
            } _: { fixture, url in
                _ = try await fixture.run(
                    "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback"
                ).result()
                let issuer = fixture.issuer
                second.fault(
                    .editDocument { $0["authorization_servers"] = [.string(issuer)] }, at: .resourceMetadata, times: nil
                )
                let lines = [
                    ["--issuer", issuer], ["--resource", url], ["--resource", second.url(.api)], ["--resource", url],
                ]
                var ids: [JSON?] = []
                for line in lines {
                    ids.append(try await fixture.start(["login", "--json"] + line).outcome().result()["client_id"])
                }
                #expect(Set(ids).count == 3 && ids[1] == ids[3])
                #expect(fixture.provider.count(.clientRegistration) == 3)
            }
        }
    }

    /// Some servers give every registration the same client ID. A helper for the resource may name the session.
    @Test func `nor is a session for a resource by one of the user's client`() async throws {
        try await run { fixture, url in
            fixture.provider.fault(.editDocument { $0["client_id"] = "demo" }, at: .clientRegistration, times: nil)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            let name = try #require(fixture.stored.first { $0.hasSuffix(".json") })
            let file = URL(filePath: "\(fixture.sessions)/\(name)")
            let session = try Data(contentsOf: file)
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            _ = try await fixture.start(register).outcome().result()
            let refused = try await fixture.run("login", "--json", "--issuer", fixture.issuer)
            #expect(refused.status == 2 && refused.errorLines.last?.contains("--profile") == true, "\(refused)")
            #expect(try Data(contentsOf: file) == session)
        }
    }

    @Test func `a session of a published client is not replaced by one for something else`() async throws {
        try await run { fixture, url in
            let document = "https://app.example/client.json"
            fixture.provider.fault(
                .editDocument { $0["client_id_metadata_document_supported"] = true }, at: .openIDConfiguration,
                times: nil)
            let session = ["--issuer", fixture.issuer, "--client-id", document]
            let record = try AuthStateRecord(
                client: Client(
                    id: document, provider: ProviderMetadata(issuer: Issuer(fixture.issuer), endpoints: [:])),
                accessToken: nil, refreshToken: Secret("kept"))
            let name = FormParameters.encode("\(fixture.issuer) \(document)")
            try await FileTokenStore(path: "\(fixture.sessions)/\(name).json").update { $0 = record }
            let login = ["login", "--json", "--resource", url, "--client-document", document]
            for isEnded in [false, true] {
                // A helper may name the session, which must not become one for something else.
                if isEnded {
                    try CommandFixture.editSession(at: "\(fixture.sessions)/\(name).json") {
                        $0["end"] = ["reason": "the provider has ended it", "date": 1_750_000_000]
                    }
                }
                let refused = try await fixture.start(login).outcome()
                #expect(refused.status == 2 && refused.errorLines.last?.contains("--profile") == true, "\(refused)")
            }
            let state = try await fixture.start(["status", "--json"]).outcome().result()
            #expect(state["sessions"]?.array?.first?["client_id"]?.string == session[3])
        }
    }

    /// What the registration response says, and whether the client is used again.
    enum Registered: String, CaseIterable, Sendable {
        case asRequested, withValidSecret, withExpiredSecret, withoutDeviceGrant

        var grant: String { self == .withoutDeviceGrant ? "device" : "login" }
        var isUsedAgain: Bool { self == .asRequested || self == .withValidSecret }

        func edit(_ document: inout JSON.Object) {
            switch self {
            case .asRequested: break
            case .withValidSecret: document["client_secret_expires_at"] = 4_000_000_000
            case .withExpiredSecret: document["client_secret_expires_at"] = 1_000_000_000
            case .withoutDeviceGrant: document["grant_types"] = ["authorization_code", "refresh_token"]
            }
        }
    }

    @Test(arguments: Registered.allCases)
    func `a client is used again only if it can be`(registered: Registered) async throws {
        try await run { fixture, url in
            fixture.provider.fault(
                .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_post"] },
                at: .openIDConfiguration, times: nil)
            fixture.provider.fault(.editDocument(registered.edit), at: .clientRegistration)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            if registered.grant == "device" {
                let process = try fixture.start(["device", "--json", "--resource", url])
                try await DeviceCode(process).decide("allow")
                _ = try await process.outcome().result()
            } else {
                _ = try await fixture.run("login", "--json", "--resource", url).result()
            }
            #expect(fixture.provider.count(.clientRegistration) == (registered.isUsedAgain ? 1 : 2))
        }
    }

    @Test func `a registered client without the device grant is not used on a device`() async throws {
        try await run { fixture, url in
            _ = try await fixture.run(
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback"
            ).result()
            let process = try fixture.start(["device", "--json", "--resource", url])
            try await DeviceCode(process).decide("allow")
            _ = try await process.outcome().result()
            #expect(fixture.provider.count(.clientRegistration) == 2)
        }
    }

    @Test func `a new profile in the variable names the session of a resource`() async throws {
        try await run { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url, with: ["SIGN_IN_PROFILE": "notes"]).result()
            #expect(fixture.stored.contains("notes.json") && fixture.stored.contains("notes.profile"))
        }
    }

    @Test func `a resource is asked even while a profile for something else is in use`() async throws {
        try await run {
            $0.users.append(.bob)
        } _: { fixture, url in
            _ = try await fixture.login("--profile", "bob", with: CommandFixture.bob).result()
            _ = try await fixture.run("use", "bob")
            for variables in [[:], ["SIGN_IN_PROFILE": "bob"]] {
                let session = try await fixture.run("login", "--json", "--resource", url, with: variables).result()
                #expect(session["client_id"] != "demo" && session["scope"] == "offline_access api")
            }
            #expect(fixture.provider.count(.api) == 2)
            #expect(try await fixture.run("userinfo", "--json").result()["sub"] == "bob")
            let requests = fixture.provider.log.count
            try await fixture.run("login", "--json", "--resource", "ftp://x.example").failure(
                1, "invalid_configuration")
            #expect(fixture.provider.log.count == requests)
        }
    }

    @Test func `the profile in use signs in again for the resource that it remembers`() async throws {
        try await run { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url, "--profile", "notes").result()
            _ = try await fixture.run("use", "notes")
            for options in [[], ["--profile", "notes"]] {
                _ = try await fixture.start(["login", "--json", "--resource", url] + options).outcome().result()
            }
            #expect(fixture.stored.filter { $0.hasSuffix(".json") } == ["notes.json"])
            #expect(fixture.provider.count(.api) == 3)
        }
    }

    @Test(arguments: [
        ("api", "The session has the scopes that the resource requires"), ("", "The resource does not say"),
    ])
    func `a request does not sign in again if that adds no scope`(scope: String, reason: String) async throws {
        try await run { fixture, url in
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            fixture.provider.fault(.editDocument { $0["scopes_supported"] = nil }, at: .resourceMetadata)
            let challenge = #"Bearer error="insufficient_scope", scope="\#(scope)""#
            fixture.provider.fault(.status(.forbidden, [.wwwAuthenticate: challenge]), at: .api, times: 2)
            let outcome = try await fixture.run("request", "GET", url, "--step-up", "--json")
            #expect(try outcome.status == 1 && outcome.json()["status"] == 403)
            #expect(outcome.errorLines.last?.hasPrefix(reason) == true, "\(outcome)")
            #expect(fixture.provider.count(.authorization) == 1)
        }
    }

    /// The user has typed it for what the issuer used then (RFC 9700 §4.4).
    @Test func `the issuer that a profile remembers chooses a server, and is no agreement to what it uses now`()
        async throws
    {
        try await run {
            $0.sendsIssuerParameter = false
        } _: { fixture, url in
            let named = ["login", "--json", "--resource", url, "--issuer", fixture.issuer, "--profile", "notes"]
            _ = try await fixture.start(named).outcome().result()
            fixture.provider.fault(
                .editDocument { $0["authorization_endpoint"] = "https://other.example/authorize" },
                at: .openIDConfiguration, times: nil)
            let message = try await fixture.run("login", "--json", "--profile", "notes")
                .failure(1, "confirmation_required")
            #expect(message.contains("uses other.example") && fixture.browser.visits.count == 1, "\(message)")
            for option in ["--issuer", "--resource"] {
                #expect(message.ranges(of: option + " ").count == 1, "\(message)")
            }
            // On the command line of this call, it is the agreement.
            let line = try #require(message.components(separatedBy: "sign in with: ").last)
            let again = try fixture.start(["sh", "-c", "exec \(line) --no-browser --json"], [])
            #expect(try await Redirects(again).url.hasPrefix("https://other.example/authorize"))
            again.send(SIGINT)
            _ = try await again.outcome()
        }
    }

    @Test func `the line for a device leaves the issuer of a profile to the resource`() async throws {
        try await run { fixture, url in
            let named = ["login", "--json", "--resource", url, "--issuer", fixture.issuer, "--profile", "notes"]
            _ = try await fixture.start(named).outcome().result()
            for (line, isNamed) in [(named, true), (["login", "--json", "--profile", "notes"], false)] {
                let process = try fixture.start(line + ["--no-browser"])
                let offer = try await process.line { $0.hasPrefix("  sign-in device ") }
                #expect(offer.contains("--issuer \(fixture.issuer)") == isNamed && offer.contains(url), "\(offer)")
                process.send(SIGINT)
                _ = try await process.outcome()
            }
        }
    }

    @Test func `a profile remembers the resource`() async throws {
        try await run { fixture, url in
            let first = try await fixture.run("login", "--json", "--resource", url, "--profile", "work").result()
            let second = try await fixture.run("login", "--json", "--profile", "work").result()
            #expect(first["client_id"] == second["client_id"] && fixture.provider.count(.api) == 2)
            let response = try await fixture.run("request", "GET", url, "--profile", "work", "--json")
            #expect(try response.result()["status"] == 200)
        }
    }

    @Test func `a client gets a secret if the provider accepts no client without one`() async throws {
        try await run { fixture, url in
            fixture.provider.fault(
                .editDocument { $0["token_endpoint_auth_methods_supported"] = ["client_secret_post"] },
                at: .openIDConfiguration)
            _ = try await fixture.run("login", "--json", "--resource", url).result()
            #expect(fixture.provider.log(.token).first?.form["client_secret"]?.isEmpty == false)
        }
    }

    @Test func `a provider without registration is named, and a client of the user suffices`() async throws {
        try await run {
            $0.registration = nil
        } _: { fixture, url in
            let message = try await fixture.run("login", "--json", "--resource", url).failure(1, "invalid_metadata")
            #expect(message.contains("registration_endpoint") && message.contains("--client-id"))
            _ = try await fixture.run("login", "--json", "--resource", url, "--client-id", "demo").result()
        }
    }

    @Test func `tokens are bound to a key if the resource requires it`() async throws {
        try await run { fixture, url in
            fixture.provider.fault(
                .editDocument { $0["dpop_bound_access_tokens_required"] = true }, at: .resourceMetadata)
            let session = try await fixture.run("login", "--json", "--resource", url).result()
            #expect(session["token_type"] == "DPoP")
        }
    }
}
