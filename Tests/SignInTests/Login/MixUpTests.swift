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
        try await withHostileResource { fixture, url, honest in
            fixture.provider.fault(way.fault(honest), at: .openIDConfiguration)
            let outcome = try await fixture.start(["login", "--json", "--timeout", "30", "--resource", url] + options)
                .outcome()
            let message = try outcome.failure(1, "confirmation_required")
            let hosts = [fixture.issuer, honest.issuer].map(host(of:))
            #expect(hosts.allSatisfy(message.contains) && message.contains("--issuer \(fixture.issuer)"), "\(message)")
            #expect(fixture.browser.visits.isEmpty && honest.log.isEmpty && fixture.provider.count(.token) == 0)
        }
    }

    /// The terminal holds a part of it. The rest arrives when there is room.
    @Test func `the rest of a long paste from before the question is no answer either`() async throws {
        try await withHostileResource { fixture, url, honest in
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
        try await withHostileResource { fixture, url, honest in
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
        try await withHostileResource { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest), at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            // What was typed before the question is no answer to it.
            if !agrees { terminal.type("yes\n") }
            let process = try fixture.start(
                ["login", "--json", "--timeout", "30", "--no-browser", "--resource", url], input: terminal.input)
            let question = try await process.line { $0.hasPrefix("  other servers: ") }
            #expect(question.contains(host(of: honest.issuer)))
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
                    let shown = outcome.errorLines.contains(line + host(of: fixture.issuer))
                    #expect(shown, "\(outcome)")
                }
            }
            #expect(terminal.mode == .lines && honest.log.isEmpty)
        }
    }

    @Test func `naming the issuer is the agreement`() async throws {
        try await withHostileResource { fixture, url, honest in
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
        try await withHostileResource {
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
        try await withHostileResource { fixture, url, honest in
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
        try await withHostileResource { fixture, url, _ in
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
        try await withHostileResource { fixture, url, honest in
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

    @Test func `no client is registered at another provider without an agreement`() async throws {
        try await withHostileResource { fixture, url, honest in
            let elsewhere = JSON.string(honest.url(.clientRegistration))
            fixture.provider.fault(
                .editDocument { $0["registration_endpoint"] = elsewhere }, at: .openIDConfiguration, times: nil)
            let login = ["login", "--json", "--timeout", "30", "--no-browser", "--resource", url]
            let message = try await fixture.start(login).outcome().failure(1, "confirmation_required")
            #expect(message.contains(host(of: honest.issuer)) && message.contains("--issuer"), "\(message)")
            #expect(honest.log.isEmpty)
            let terminal = try Pseudoterminal()
            let process = try fixture.start(login, input: terminal.input)
            _ = try await process.line { $0.contains("Sign in?") }
            try await terminal.wait(for: .bytes)
            terminal.type("yes\n")
            let note = try await process.line { $0.hasPrefix("Registered") }
            #expect(note.hasPrefix("Registered at \(host(of: honest.issuer)) as "))
            process.send(SIGINT)
            _ = try await process.outcome()
        }
    }

    @Test(arguments: [
        "prompt=none", "%70rompt=none", "a=b&max_age=0", "redirect_uri=http://127.0.0.1/", "request_uri=urn:a",
    ])
    func `a parameter of the request in the metadata's endpoint is refused`(query: String) async throws {
        try await withHostileResource { fixture, url, _ in
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
        try await withHostileResource {
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

    /// What the registration response says about redirect URIs.
    enum Choice: String, CaseIterable, Sendable {
        case ofAnotherApp = "vscode:/callback", shared = "http://127.0.0.1/callback", remote = "https://evil.example/cb"
    }

    @Test(arguments: Choice.allCases)
    func `the server does not choose the redirect URI`(choice: Choice) async throws {
        try await withHostileResource(registering: ["redirect_uris": [.string(choice.rawValue)]]) { fixture, url, _ in
            let message = try await fixture.run("login", "--json", "--timeout", "30", "--resource", url).failure(
                1, "invalid_response")
            #expect(message.contains("'\(choice.rawValue)'") && message.contains("'http://127.0.0.1:"), "\(message)")
            #expect(fixture.browser.visits.isEmpty)
        }
    }
}
