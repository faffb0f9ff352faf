import AppAuthConcurrency
import AppAuthTestProvider
import Foundation
import HTTPTypes
import JOSE
import Testing

/// A resource names an authorization server of its owner, which tries to obtain the code of an honest provider (RFC 9700
/// §4.4).
@Suite(.timeLimit(.minutes(5)))
struct MixUpTests {
    /// Runs a test with the owner's server, in the fixture, and an honest provider that sends no `iss` and knows a public
    /// client of its own.
    private func run(
        registering registration: JSON.Object = [:],
        _ change: (inout LocalProvider.Configuration) -> Void = { _ in },
        _ body: (_ fixture: CommandFixture, _ url: String, _ honest: LocalProvider) async throws -> Void
    ) async throws {
        var honest = LocalProvider.Configuration.device
        honest.sendsIssuerParameter = false
        honest.clients.append(
            RegisteredClient(id: "honest-app", name: "Honest", redirectURIs: ["http://127.0.0.1/callback"]))
        var hostile = LocalProvider.Configuration.device
        hostile.sendsIssuerParameter = false
        hostile.resourceDescription = ResourceDescription(scopes: ["api"])
        change(&hostile)
        try await withLocalProvider(honest) { honest in
            try await withDesk(hostile) { fixture in
                fixture.provider.fault(
                    .editDocument { document in
                        document["client_id"] = "honest-app"
                        for member in registration.members { document[member.name] = member.value }
                    }, at: .clientRegistration, times: nil)
                try await body(fixture, fixture.provider.url(.api), honest)
            }
        }
    }

    private static func host(_ issuer: String) -> String { issuer.replacing("http://", with: "") }

    /// How the owner's metadata lead to the honest provider.
    enum Way: String, CaseIterable, Sendable {
        case plain, pushed, itsPolicy = "?p=policy", itsToken, itsPushed

        func fault(_ honest: LocalProvider) -> Fault {
            let (page, token, pushed) = (
                honest.url(.authorization), honest.url(.token), honest.url(.pushedAuthorization)
            )
            return .editDocument { document in
                switch self {
                case .plain: document["authorization_endpoint"] = .string(page)
                case .pushed:
                    document["authorization_endpoint"] = .string(page)
                    document["require_pushed_authorization_requests"] = true
                case .itsPolicy: document["authorization_endpoint"] = .string(page + rawValue)
                case .itsToken: document["token_endpoint"] = .string(token)
                case .itsPushed: document["pushed_authorization_request_endpoint"] = .string(pushed)
                }
            }
        }
    }

    @Test(arguments: Way.allCases, [[], ["--client-id", "honest-app"]])
    func `off a terminal, no sign-in leads to another provider`(way: Way, options: [String]) async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(way.fault(honest), at: .openIDConfiguration)
            let outcome = try await fixture.start(["login", "--json", "--timeout", "30", "--resource", url] + options)
                .outcome()
            let message = try outcome.failure(1, "confirmation_required")
            let hosts = [fixture.issuer, honest.issuer].map(Self.host)
            #expect(hosts.allSatisfy(message.contains) && message.contains("--issuer \(fixture.issuer)"), "\(message)")
            #expect(fixture.browser.visits.isEmpty && honest.log.isEmpty && fixture.provider.count(.token) == 0)
        }
    }

    /// The terminal holds a part of it. The rest arrives when there is room.
    @Test func `the rest of a long paste from before the question is no answer either`() async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            Thread.detachNewThread {
                for _ in 0..<150 {
                    terminal.type(String(repeating: "yes\n", count: 100))
                    // A screen that nobody reads would stop whoever writes to it.
                    _ = terminal.shown()
                }
            }
            let process = try fixture.start(
                ["login", "--json", "--timeout", "60", "--no-browser", "--resource", url], input: terminal.input)
            _ = try await process.line { $0.hasPrefix("  other servers: ") }
            try await terminal.wait(for: .bytes)
            terminal.type("\n")
            try await process.outcome().failure(1, "confirmation_required")
            #expect(honest.log.isEmpty)
        }
    }

    @Test func `a terminal that is never quiet gets no question, and gives no agreement`() async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let (terminal, isOver) = (try Pseudoterminal(), LockedValue(false))
            Thread.detachNewThread {
                while !isOver.withLock({ $0 }) {
                    terminal.type("yes\n")
                    _ = terminal.shown()
                    usleep(50_000)
                }
            }
            defer { isOver.withLock { $0 = true } }
            let outcome = try await fixture.start(
                ["login", "--json", "--timeout", "60", "--no-browser", "--resource", url], input: terminal.input
            ).outcome()
            try outcome.failure(1, "confirmation_required")
            #expect(honest.log.isEmpty && !outcome.errors.contains("Type y"))
        }
    }

    @Test(arguments: [true, false])
    func `on a terminal, the user agrees to the three hosts, or the sign-in ends`(agrees: Bool) async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            // What was typed before the question is no answer to it.
            if !agrees { terminal.type("yes\n") }
            let process = try fixture.start(
                ["login", "--json", "--timeout", "30", "--no-browser", "--resource", url], input: terminal.input)
            let question = try await process.line { $0.hasPrefix("  other servers: ") }
            #expect(question.contains(Self.host(honest.issuer)))
            try await terminal.wait(for: .bytes)
            // Standard error is no terminal here: nobody agrees to what they have not seen.
            let shown = terminal.shown()
            #expect(shown.contains(question) && shown.contains("Type y and Enter to go on"), "\(shown)")
            terminal.type(agrees ? "yes\n" : "\n")
            if agrees {
                #expect(try await Redirects(process).url.hasPrefix(honest.url(.authorization)))
                process.send(SIGINT)
                _ = try await process.outcome()
            } else {
                let outcome = try await process.outcome()
                try outcome.failure(1, "confirmation_required")
                for line in ["  resource: ", "  issuer: "] {
                    let shown = outcome.errorLines.contains(line + Self.host(fixture.issuer))
                    #expect(shown, "\(outcome)")
                }
            }
            #expect(terminal.mode == .lines && honest.log.isEmpty)
        }
    }

    @Test func `naming the issuer is the agreement`() async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let process = try fixture.start(
                ["login", "--json", "--timeout", "30", "--no-browser", "--resource", url, "--issuer", fixture.issuer])
            let redirects = try await Redirects(process)
            #expect(redirects.url.hasPrefix(honest.url(.authorization)))
            // Even then, the redirect URI is not the one that the honest provider knows.
            #expect(!redirects.redirectURI.hasSuffix(":\(redirects.port)/callback"))
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }

    @Test func `a response that promises its issuer needs no agreement, and is refused without it`() async throws {
        try await run {
            $0.sendsIssuerParameter = true
        } _: { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let process = try fixture.start(["login", "--json", "--timeout", "30", "--no-browser", "--resource", url])
            let redirects = try await Redirects(process)
            _ = try await redirects.status("code=of-the-honest-provider&state=\(redirects.state)")
            try await process.outcome().failure(1, "invalid_redirect")
            #expect(fixture.provider.count(.token) == 0)
        }
    }

    /// The owner's own page redirects the browser to the honest provider, which sends its code to the client's redirect
    /// URI there.
    @Test func `a code for another redirect URI is not the response`() async throws {
        try await run { fixture, url, honest in
            let process = try fixture.start(["login", "--json", "--timeout", "30", "--no-browser", "--resource", url])
            let redirects = try await Redirects(process)
            // Not below `/callback`: some providers accept paths below a registered one.
            let component = redirects.redirectURI.split(separator: "/").dropLast().last ?? ""
            #expect(redirects.redirectURI == "http://127.0.0.1:\(redirects.port)/\(component)/callback")
            #expect(component.count == 22, "16 bytes")
            for path in [
                "/callback", "/\(component)/callback/", "/\(component)", "/callback/\(component)",
                "/\(component.lowercased())x/callback",
            ] {
                #expect(try await redirects.status("code=a&state=\(redirects.state)", path: path) == 404)
            }
            let registered = try JSON(parsing: #require(fixture.provider.log(.clientRegistration).first).body)
            #expect(registered["redirect_uris"]?.strings == [redirects.redirectURI])
            process.send(SIGINT)
            _ = try await process.outcome()
            #expect(fixture.provider.count(.token) == 0)
        }
    }

    @Test func `a client that the user names needs an agreement too, since its redirect URI is everyone's`()
        async throws
    {
        try await run { fixture, url, _ in
            let outcome = try await fixture.run(
                "login", "--json", "--timeout", "30", "--resource", url, "--client-id", "demo")
            try outcome.failure(1, "confirmation_required")
            #expect(fixture.browser.visits.isEmpty)
            _ = try await fixture.run(
                "login", "--json", "--timeout", "30", "--resource", url, "--client-id", "demo", "--issuer",
                fixture.issuer
            ).result()
        }
    }

    /// The line that signs in again asks once more: the issuer may lead somewhere else by then.
    @Test func `an agreement holds for what the user has seen, and not for the line that signs in again`() async throws
    {
        try await run { fixture, url, honest in
            let terminal = try Pseudoterminal()
            let process = try fixture.start(
                ["login", "--json", "--timeout", "60", "--resource", url, "--client-id", "demo"], input: terminal.input)
            _ = try await process.line { $0.contains("Sign in?") }
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            _ = try await process.outcome().result()
            fixture.provider.fault(.oauthError("interaction_required"), at: .token)
            let message = try await fixture.run("token", "--json", "--force-refresh").errors
            #expect(message.contains("--resource \(url)") && !message.contains("--issuer"), "\(message)")
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let line = try #require(message.split(separator: "\n").first?.components(separatedBy: "with: ").last)
            let again = try await fixture.start(["sh", "-c", line + " --json"], []).outcome()
            try again.failure(1, "confirmation_required")
            #expect(honest.log.isEmpty)
        }
    }

    @Test(arguments: ["login", "device"], [true, false])
    func `no client is registered before the one question`(command: String, isAllElsewhere: Bool) async throws {
        try await run { fixture, url, honest in
            let page = JSON.string(honest.url(command == "login" ? .authorization : .deviceAuthorization))
            let registration = honest.url(.clientRegistration)
            fixture.provider.fault(
                .editDocument { document in
                    document[command == "login" ? "authorization_endpoint" : "device_authorization_endpoint"] = page
                    if isAllElsewhere { document["registration_endpoint"] = .string(registration) }
                }, at: .openIDConfiguration, times: nil)
            let line = [command, "--json", "--timeout", "30", "--resource", url]
            let message = try await fixture.start(line).outcome().failure(1, "confirmation_required")
            #expect(message.contains(Self.host(honest.issuer)), "\(message)")
            #expect(honest.log.isEmpty && fixture.provider.count(.clientRegistration) == 0)
            #expect(fixture.stored.isEmpty)

            let terminal = try Pseudoterminal()
            let options = command == "login" ? ["--no-browser"] : []
            let process = try fixture.start(line + options, input: terminal.input)
            _ = try await process.line { $0.hasPrefix("  other servers: ") }
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            _ = try await process.line { $0.hasPrefix("Registered") }
            if command == "login" {
                #expect(try await Redirects(process).url.hasPrefix(honest.url(.authorization)))
                process.send(SIGINT)
            }
            let outcome = try await process.outcome()
            #expect(outcome.errorLines.filter { $0.contains("Sign in?") }.count == 1, "\(outcome)")
        }
    }

    /// RFC 8628 §4 registers the endpoint in the metadata of RFC 8414.
    @Test(arguments: [true, false])
    func `an endpoint for devices that only the document of RFC 8414 has is asked about and used`(isElsewhere: Bool)
        async throws
    {
        var configuration = LocalProvider.Configuration.device
        configuration.resourceDescription = ResourceDescription(scopes: ["api"])
        try await withDesk(configuration) { fixture in
            fixture.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = nil }, at: .openIDConfiguration, times: nil)
            if isElsewhere {
                fixture.provider.fault(
                    .editDocument { $0["device_authorization_endpoint"] = "http://127.0.0.2:9/device" },
                    at: .oauthMetadata, times: nil)
            }
            let process = try fixture.start(["device", "--json", "--resource", fixture.provider.url(.api)])
            guard isElsewhere else {
                try await DeviceCode(process).decide("allow")
                _ = try await process.outcome().result()
                return
            }
            let message = try await process.outcome().failure(1, "confirmation_required")
            #expect(message.contains("uses 127.0.0.2:9"), "\(message)")
            #expect(fixture.provider.count(.clientRegistration) == 0)
        }
    }

    @Test func `no client is registered at another provider without an agreement`() async throws {
        try await run { fixture, url, honest in
            let elsewhere = JSON.string(honest.url(.clientRegistration))
            fixture.provider.fault(
                .editDocument { $0["registration_endpoint"] = elsewhere }, at: .openIDConfiguration, times: nil)
            let login = ["login", "--json", "--timeout", "30", "--no-browser", "--resource", url]
            let message = try await fixture.start(login).outcome().failure(1, "confirmation_required")
            #expect(message.contains(Self.host(honest.issuer)) && message.contains("--issuer"), "\(message)")
            #expect(honest.log.isEmpty)
            let terminal = try Pseudoterminal()
            let process = try fixture.start(login, input: terminal.input)
            _ = try await process.line { $0.contains("Sign in?") }
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            let note = try await process.line { $0.hasPrefix("Registered") }
            #expect(note.hasPrefix("Registered at \(Self.host(honest.issuer)) as "))
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }

    @Test(arguments: [
        "prompt=none", "%70rompt=none", "a=b&max_age=0", "redirect_uri=http://127.0.0.1/", "request_uri=urn:a",
    ])
    func `a parameter of the request in the metadata's endpoint is refused`(query: String) async throws {
        try await run { fixture, url, _ in
            let page = fixture.provider.url(.authorization) + "?" + query
            fixture.provider.fault(
                .editDocument { $0["authorization_endpoint"] = .string(page) }, at: .openIDConfiguration)
            try await fixture.run("login", "--json", "--timeout", "30", "--resource", url).failure(
                1, "invalid_metadata")
            #expect(fixture.browser.visits.isEmpty)
        }
    }

    /// A client's document lists the redirect URIs of several issuers, so it separates none of them.
    @Test(arguments: [false, true])
    func `a published client needs an agreement, unless the response names its issuer`(isPromised: Bool) async throws {
        try await run {
            $0.sendsIssuerParameter = isPromised
        } _: { fixture, url, _ in
            fixture.provider.fault(
                .editDocument { $0["client_id_metadata_document_supported"] = true }, at: .openIDConfiguration,
                times: nil)
            let line = [
                "login", "--json", "--timeout", "30", "--resource", url, "--client-document",
                "https://app.example/client.json",
            ]
            if !isPromised {
                let message = try await fixture.start(line).outcome().failure(1, "confirmation_required")
                #expect(message.contains(line.dropFirst().joined(separator: " ")), "\(message)")
                #expect(fixture.browser.visits.isEmpty)
            }
            let agreement = isPromised ? [] : ["--issuer", fixture.issuer]
            let process = try fixture.start(line + ["--no-browser"] + agreement)
            let redirects = try await Redirects(process)
            #expect(redirects.url.contains("client_id=https%3A%2F%2Fapp.example%2Fclient.json"))
            let status = try await redirects.status("code=of-the-honest-provider&state=\(redirects.state)")
            #expect(status < 400)
            let failure = try await process.outcome().json()["error"]?["code"]
            #expect((failure == "invalid_redirect") == isPromised)
            #expect((fixture.provider.count(.token) == 0) == isPromised)
        }
    }

    @Test(arguments: ["device_authorization_endpoint", "token_endpoint"], [true, false])
    func `no code for a device leads to another provider`(endpoint: String, isPromised: Bool) async throws {
        try await run {
            $0.sendsIssuerParameter = isPromised
        } _: { fixture, url, honest in
            let other = honest.url(endpoint == "token_endpoint" ? .token : .deviceAuthorization)
            fixture.provider.fault(
                .editDocument { $0[endpoint] = .string(other) }, at: .openIDConfiguration, times: nil)
            let line = ["device", "--json", "--timeout", "30", "--resource", url, "--client-id", "demo"]
            let message = try await fixture.start(line).outcome().failure(1, "confirmation_required")
            let hosts = [fixture.issuer, honest.issuer].map(Self.host)
            #expect(hosts.allSatisfy(message.contains), "\(message)")
            #expect(honest.log.isEmpty && fixture.provider.count(.deviceAuthorization) == 0)

            let terminal = try Pseudoterminal()
            let process = try fixture.start(line, input: terminal.input)
            let servers = try await process.line { $0.hasPrefix("  other servers: ") }
            #expect(servers.contains(hosts[1]), "\(servers)")
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            if endpoint == "token_endpoint" {
                _ = try await DeviceCode(process)
                process.send(SIGINT)
            }
            // The honest provider does not know the resource.
            let outcome = try await process.outcome()
            #expect(outcome.status == (endpoint == "token_endpoint" ? 130 : 1), "\(outcome)")
            #expect(honest.count(.deviceAuthorization) == (endpoint == "token_endpoint" ? 0 : 1))
        }
    }

    /// The user may be signed out there, by a client that is not the user's.
    @Test func `a sign-out opens no page of another provider`() async throws {
        try await withLocalProvider(.device) { honest in
            try await withResource { fixture, _, url in
                let page = honest.url(.endSession)
                fixture.provider.fault(
                    .editDocument { $0["end_session_endpoint"] = .string(page) }, at: .openIDConfiguration)
                let line = ["login", "--json", "--resource", url, "--scope", "openid"]
                _ = try await fixture.start(line).outcome().result()
                let outcome = try await fixture.run("logout", "--json")
                #expect(try outcome.result()["session_ended"] != true)
                #expect(outcome.errors.contains(page) && outcome.errors.contains("must agree first"), "\(outcome)")
                #expect(honest.count(.endSession) == 0)
            }
        }
    }

    @Test func `the code that the user requests instead of the browser needs an agreement of its own`() async throws {
        try await run {
            $0.sendsIssuerParameter = true
        } _: { fixture, url, honest in
            let other = honest.url(.deviceAuthorization)
            fixture.provider.fault(
                .editDocument { $0["device_authorization_endpoint"] = .string(other) }, at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            let process = try fixture.start(
                ["login", "--json", "--timeout", "60", "--no-browser", "--resource", url], input: terminal.input)
            _ = try await process.line { $0.hasPrefix("Or press d") }
            try await terminal.wait(for: .bytes)
            terminal.type("d\n")
            let servers = try await process.line { $0.hasPrefix("  other servers: ") }
            #expect(servers.contains(Self.host(honest.issuer)), "\(servers)")
            try await terminal.wait(for: .bytes)
            terminal.type("\n")
            let message = try await process.outcome().failure(1, "confirmation_required")
            #expect(try line(in: message).hasPrefix("sign-in device "), "\(message)")
            #expect(honest.log.isEmpty)
        }
    }

    @Test func `a step-up in the browser needs an agreement that a session of a device did not need`() async throws {
        try await run { fixture, url, _ in
            let login = ["--json", "--resource", url, "--client-id", "demo", "--scope", "profile offline_access"]
            let device = try fixture.start(["device"] + login)
            try await DeviceCode(device).decide("allow")
            _ = try await device.outcome().result()
            fixture.provider.fault(
                .status(.forbidden, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="api""#]), at: .api)
            let message = try await fixture.run("request", "GET", url, "--step-up", "--json")
                .failure(1, "confirmation_required")
            #expect(fixture.browser.visits.isEmpty)
            let again = try fixture.start(["sh", "-c", "exec " + line(in: message) + " --json"], [])
            try await DeviceCode(again).decide("allow")
            #expect(try await again.outcome().result()["scope"]?.string?.contains("api") == true)
        }
    }

    /// Returns the last command line of a message.
    private func line(in message: String) throws -> String {
        try #require(message.ranges(of: "sign-in ").last.map { String(message[$0.lowerBound...]) }, "\(message)")
    }

    @Test func `the line that is the agreement signs in for the same, also at a server without OpenID Connect`()
        async throws
    {
        try await run { fixture, url, _ in
            fixture.provider.fault(
                .editDocument { document in
                    document["jwks_uri"] = nil
                    document["scopes_supported"] = ["api", "offline_access"]
                }, at: .openIDConfiguration, times: nil)
            let store = "file:\(fixture.home)/a session"
            let message = try await fixture.run(
                "login", "--json", "--resource", url, "--client-id", "demo", "--store", store
            ).failure(1, "confirmation_required")
            #expect(!message.contains("whose"), "no page is elsewhere: \(message)")
            let session = try await fixture.start(["sh", "-c", try line(in: message)], []).outcome().result()
            #expect(session["scope"] == "offline_access api" && session["issuer"]?.string == fixture.issuer)
            let requested = try #require(fixture.provider.log(.authorization).last?.query)
            #expect(requested.values("resource") == [url])
            #expect(FileManager.default.fileExists(atPath: fixture.home + "/a session"))
        }
    }

    @Test(arguments: [[], ["--client-id", "demo"]])
    func `without scopes, the line that is the agreement has no empty word`(client: [String])
        async throws
    {
        try await run {
            $0.resourceDescription = ResourceDescription(scopes: [])
        } _: { fixture, url, honest in
            fixture.provider.fault(
                .editDocument { document in
                    document["jwks_uri"] = nil
                    document["scopes_supported"] = ["api"]
                    if client.isEmpty { document["authorization_endpoint"] = .string(honest.url(.authorization)) }
                }, at: .openIDConfiguration, times: nil)
            let message = try await fixture.start(["login", "--json", "--resource", url] + client).outcome()
                .failure(1, "confirmation_required")
            #expect(!message.contains("''") && message.contains(" --scope= ") == !client.isEmpty, "\(message)")
            guard !client.isEmpty else { return }
            // RFC 6749 §3.3: the provider may require a scope, as this one does.
            try await fixture.start(["sh", "-c", try line(in: message)], []).outcome().failure(1, "invalid_scope")
            #expect(try #require(fixture.provider.log(.authorization).last).query["scope"] == nil)
        }
    }

    @Test func `the line that is the agreement has the options that the profile remembers`() async throws {
        try await run {
            $0.sendsIssuerParameter = true
        } _: { fixture, url, _ in
            let line = ["login", "--json", "--resource", url, "--client-id", "demo", "--profile", "notes"]
            _ = try await fixture.start(line).outcome().result()
            fixture.provider.fault(
                .editDocument { $0["authorization_response_iss_parameter_supported"] = nil }, at: .openIDConfiguration,
                times: nil)
            let message = try await fixture.run("login", "--json", with: ["SIGN_IN_PROFILE": "notes"])
                .failure(1, "confirmation_required")
            let session = try await fixture.start(["sh", "-c", try self.line(in: message)], []).outcome().result()
            #expect(session["scope"] == "offline_access api" && session["client_id"] == "demo")
            // Now the profile remembers the agreement too.
            _ = try await fixture.run("login", "--json", "--profile", "notes").result()
        }
    }

    /// The document in which a server names the page of another one. The sign-in reads both.
    enum Document: CaseIterable { case openIDConnect, authorizationServer }

    @Test(arguments: Document.allCases)
    func `a resource with several servers names for each what the user agrees to, and the line`(
        document: Document
    ) async throws {
        try await run { fixture, url, honest in
            let issuers = JSON.array([.string(honest.issuer), .string(fixture.issuer)])
            fixture.provider.fault(
                .editDocument { $0["authorization_servers"] = issuers }, at: .resourceMetadata, times: nil)
            fixture.provider.fault(
                .editDocument { members in
                    let page = JSON.string(honest.url(.authorization))
                    members["authorization_endpoint"] = document == .openIDConnect ? page : nil
                    members["jwks_uri"] = nil
                }, at: .openIDConfiguration, times: nil)
            fixture.provider.fault(
                .editDocument { $0["authorization_endpoint"] = .string(honest.url(.authorization)) },
                at: .oauthMetadata, times: nil)
            let message = try await fixture.run(
                "login", "--json", "--no-browser", "--resource", url, "--redirect-path", "/a'b", "--client-id", "demo"
            ).wrongUsage()
            let hosts = [fixture.issuer, honest.issuer].map(Self.host)
            #expect(message.contains("\(hosts[0]), which uses \(hosts[1]):"), "\(message)")
            #expect(!message.contains("\(hosts[1]), which uses"))
            let process = try fixture.start(["sh", "-c", "exec " + line(in: message)], [])
            let url = try await Redirects(process).url
            #expect(url.hasPrefix(honest.url(.authorization)) && url.contains("scope=api"))
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }

    /// What the registration response says about redirect URIs.
    enum Choice: String, CaseIterable, Sendable {
        case ofAnotherApp = "vscode:/callback", shared = "http://127.0.0.1/callback", remote = "https://evil.example/cb"
    }

    @Test(arguments: Choice.allCases)
    func `the server does not choose the redirect URI`(choice: Choice) async throws {
        try await run(registering: ["redirect_uris": [.string(choice.rawValue)]]) { fixture, url, _ in
            let message = try await fixture.run("login", "--json", "--timeout", "30", "--resource", url).failure(
                1, "invalid_response")
            #expect(message.contains("'\(choice.rawValue)'") && message.contains("'http://127.0.0.1:"), "\(message)")
            #expect(fixture.browser.visits.isEmpty)
        }
    }
}
