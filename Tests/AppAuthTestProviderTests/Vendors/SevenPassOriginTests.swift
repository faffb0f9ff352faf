import AppAuthTestProvider
import HTTPTypes
import JOSE
import TestFixtures
import Testing

/// The servers of 7Pass: issuer, API, pages and Facebook are at origins of their own.
@Suite struct SevenPassOriginTests {
    @Test func `each part has a host of its own, since cookies are sent to every port of a host`() async throws {
        try await withSevenPass { flow in
            let hosts = Role.allCases.map { flow.sevenPass.origin(of: $0).split(separator: ":")[1] }
            #expect(Set(hosts).count == 4 && hosts.allSatisfy { $0.hasPrefix("//127.0.0.") })
            let demo = flow.sevenPass.demo
            #expect(demo["api_base"]?.string == flow.sevenPass.origin(of: .api) + "/api/accounts/")
            #expect(demo["client_api_base"]?.string == flow.sevenPass.origin(of: .api) + "/api/client/")
            let callback = flow.sevenPass.origin(of: .interaction) + "/externals/callback"
            #expect(demo["external_callback"]?.string == callback)
            #expect(demo["facebook_url"]?.string == flow.sevenPass.origin(of: .external))
        }
    }

    @Test(arguments: [
        ("/.well-known/openid-configuration", Role.issuer), ("/jwks", .issuer), ("/userinfo", .issuer),
        ("/end_session", .issuer), ("/resume?ticket=x", .issuer), ("/api/accounts/me", .api),
        ("/api/accounts/me/optins", .api), ("/externals/callback", .interaction), ("/facebook/dialog", .external),
    ])
    func `an endpoint is at the origin of its part only`(path: String, home: Role) async throws {
        try await withSevenPass { flow in
            let field = ("Authorization", "Bearer \(try flow.accessToken())")
            for role in Role.allCases {
                let response = try await Wire.send("GET", flow.sevenPass.origin(of: role) + path, [field])
                // Without a sign-in, the issuer's `resume` has a page of its own with status 404.
                let isThere = response.status != 404 || response.text.contains("sign-in is over")
                #expect(isThere == (role == home), "\(role)")
            }
        }
    }

    @Test(arguments: ["/token", "/revoke", "/api/client/checkMail"])
    func `a request with a secret reaches its part only`(path: String) async throws {
        try await withSevenPass { flow in
            let home: Role = path.hasPrefix("/api") ? .api : .issuer
            for role in Role.allCases {
                let response = try await Wire.post(flow.sevenPass.origin(of: role) + path, [])
                #expect((response.status == 404) == (role != home), "\(role)")
            }
        }
    }

    @Test func `another name for an origin gets no response`() async throws {
        try await withSevenPass { flow in
            let api = flow.sevenPass.origin(of: .api)
            let port = try #require(api.split(separator: ":").last)
            let response = try await Wire.exchange(
                Array("GET /api/accounts/me HTTP/1.1\r\nHost: evil.example:\(port)\r\nConnection: close\r\n\r\n".utf8),
                host: "127.0.0.2", port: #require(Int(port)))
            #expect(response.status == 421)
        }
    }

    @Test func `issuer and pages have cookies of their own, and neither gets the other's`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            _ = try await flow.authorize(in: browser)
            // Single sign-on: the issuer still knows the user, and only asks for consent.
            _ = try await browser.open(flow.authorizationURL())
            _ = try flow.response(in: try await browser.submit("allow"))
            func cookies(_ endpoint: LocalProvider.Endpoint) -> Set<String> {
                Set(flow.sevenPass.log(endpoint).compactMap { $0.headers[.cookie] })
            }
            let atIssuer = cookies(.authorization).union(cookies(.resume))
            let atPages = cookies(.interaction)
            // The sign-in has renewed the issuer's cookie.
            #expect(atIssuer.count == 2 && atPages.count == 1 && atIssuer.isDisjoint(with: atPages))
            #expect(flow.sevenPass.log(.interaction).allSatisfy { $0.host.hasPrefix("127.0.0.3:") })
            #expect(flow.sevenPass.log(.resume).allSatisfy { $0.host.hasPrefix("127.0.0.1:") })
        }
    }

    @Test func `a page belongs to the browser that opened it first`() async throws {
        try await withSevenPass { flow in
            let (browser, other) = (TestBrowser(flow), TestBrowser(flow))
            _ = try await browser.open(flow.authorizationURL())
            _ = try await other.open(browser.pageURL)
            #expect(other.page?.status == 403)
            other.steal(from: browser)
            _ = try await other.open(browser.pageURL)
            #expect(other.page?.status == 200)
        }
    }

    @Test func `a sign-in that another browser has begun gives it nothing`() async throws {
        try await withSevenPass { flow in
            // The attacker begins, and the victim signs in at the page that the attacker has sent.
            let (attacker, victim) = (TestBrowser(), TestBrowser(flow))
            let page = try #require(try await attacker.open(flow.authorizationURL()))
            #expect(page.hasPrefix(flow.sevenPass.origin(of: .interaction) + "/interaction/"))
            #expect(try await victim.open(page) == nil)
            #expect(try await victim.signIn("alice@example.com") == nil)
            #expect(try await victim.submit("allow") == nil)
            #expect(victim.page?.status == 403 && victim.pageURL.hasPrefix(flow.sevenPass.issuer + "/resume?ticket="))
            // And the attacker's browser is nobody at the issuer.
            let again = try await attacker.open(flow.authorizationURL(["prompt": "none"]))
            let response = try flow.response(in: again)
            #expect(response["error"] == "login_required")
        }
    }

    @Test func `a ticket ends one sign-in, and a page that is missing comes first`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            #expect(try await browser.open(flow.authorizationURL()) == nil)
            let ticket = try #require(browser.pageURL.split(separator: "/").last)
            let resume = flow.sevenPass.issuer + "/resume?ticket=\(ticket)"
            #expect(try await browser.open(resume) == nil)
            #expect(browser.pageURL.contains("/interaction/"))
            #expect(try await browser.signIn("alice@example.com") == nil)
            _ = try flow.response(in: try await browser.submit("allow"))
            #expect(try await browser.open(resume) == nil)
            #expect(browser.page?.status == 404)
        }
    }

    @Test func `a refusal and another account go through the pages, too`() async throws {
        try await withSevenPass { flow in
            let browser = TestBrowser(flow)
            _ = try await flow.authorize(in: browser)
            #expect(try await browser.open(flow.authorizationURL()) == nil)
            #expect(try await browser.submit("switch") == nil)
            #expect(browser.page?.text.contains("name=\"password\"") == true)
            let denial = try flow.response(in: try await browser.submit("deny"))
            #expect(denial["error"] == "access_denied")
        }
    }

    @Test func `the double starts on IPv6, too`() async throws {
        try await withSevenPass({ $0.options.host = "::1" }) { flow in
            #expect(flow.sevenPass.issuer.hasPrefix("http://[::1]:"))
            let url = flow.sevenPass.issuer + "/.well-known/openid-configuration"
            let response = try await Wire.send("GET", url)
            #expect(response.status == 200)
        }
    }

    @Test(arguments: Role.allCases)
    func `an occupied address leaves nothing behind`(occupied: Role) async throws {
        try await withSevenPass { flow in
            func host(_ role: Role) -> String {
                String(flow.sevenPass.origin(of: role).split(separator: ":")[1].dropFirst(2))
            }
            var other = Sbanken.Configuration()
            (other.options.host, other.options.port) = (host(occupied), freePort())
            try await withDouble(Sbanken.start(other)) { _ in
                var configuration = SevenPass.Configuration()
                configuration.options.port = other.options.port
                await #expect(throws: ProviderError.self) { try await SevenPass.start(configuration) }
                // The other addresses are free again.
                for role in Role.allCases where role != occupied {
                    var other = other
                    other.options.host = host(role)
                    try await withDouble(Sbanken.start(other)) { _ in }
                }
            }
        }
    }
}
