import AppAuthTestProvider
import Foundation
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

    /// How the owner's metadata lead to the honest provider's page.
    enum Way: String, CaseIterable, Sendable {
        case plain, pushed, itsPolicy = "?p=policy"

        func fault(_ page: String) -> Fault {
            .editDocument { document in
                document["authorization_endpoint"] = .string(page + (self == .itsPolicy ? rawValue : ""))
                if self == .pushed { document["require_pushed_authorization_requests"] = true }
            }
        }
    }

    @Test(arguments: Way.allCases, [[], ["--client-id", "honest-app"]])
    func `off a terminal, no other provider's page opens`(way: Way, options: [String]) async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(way.fault(honest.url(.authorization)), at: .openIDConfiguration)
            let outcome = try await fixture.start(["login", "--json", "--timeout", "30", "--resource", url] + options)
                .outcome()
            let message = try outcome.failure(1, "confirmation_required")
            let hosts = [fixture.issuer, honest.issuer].map(Self.host)
            #expect(hosts.allSatisfy(message.contains) && message.contains("--issuer \(fixture.issuer)"), "\(message)")
            #expect(fixture.browser.visits.isEmpty && honest.log.isEmpty && fixture.provider.count(.token) == 0)
        }
    }

    @Test(arguments: [true, false])
    func `on a terminal, the user agrees to the three hosts, or the sign-in ends`(agrees: Bool) async throws {
        try await run { fixture, url, honest in
            fixture.provider.fault(Way.plain.fault(honest.url(.authorization)), at: .openIDConfiguration)
            let terminal = try Pseudoterminal()
            let process = try fixture.start(
                ["login", "--json", "--timeout", "30", "--no-browser", "--resource", url], input: terminal.input)
            let question = try await process.line { $0.hasPrefix("  page: ") }
            #expect(question.contains(Self.host(honest.issuer)))
            try await terminal.wait(for: .bytes)
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
            fixture.provider.fault(Way.plain.fault(honest.url(.authorization)), at: .openIDConfiguration)
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
            fixture.provider.fault(Way.plain.fault(honest.url(.authorization)), at: .openIDConfiguration)
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
