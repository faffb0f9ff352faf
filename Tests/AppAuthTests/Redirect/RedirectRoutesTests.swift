import AppAuth
import Testing

/// The listener's rules, without sockets.
struct RedirectRoutesTests {
    private var routes = Self.routes()
    private var lastRequest: RedirectRoutes.Request?

    private static func routes(
        host: String = "127.0.0.1", port: UInt16 = 4711, path: String? = "/cb", formLimit: Int? = nil
    ) -> RedirectRoutes {
        RedirectRoutes(
            hosts: [host], port: port, path: path, secret: "secret", headLimit: 1024, formLimit: formLimit)
    }

    /// The next step for a request that comes in one piece.
    private mutating func step(
        _ target: String, method: String = "GET", authority: String = "127.0.0.1:4711", fields: [String] = [],
        in phase: RedirectPhase = .open
    ) -> ConnectionStep {
        var request = routes.newRequest()
        defer { lastRequest = request }
        let text = AppAuthTests.request(target, host: authority, method: method, fields: fields)
        return routes.read(Array(text.utf8)[...], of: &request, in: phase)
    }

    private mutating func status(
        _ target: String, method: String = "GET", authority: String = "127.0.0.1:4711", fields: [String] = [],
        in phase: RedirectPhase = .open
    ) -> Int? {
        step(target, method: method, authority: authority, fields: fields, in: phase).ignored?.status
    }

    @Test mutating func `the query of the exact path is matched as it is`() {
        #expect(routes.redirectURIs == ["http://127.0.0.1:4711/cb"])
        #expect(step("/cb?a=%zz&b=+") == .match("a=%zz&b=+"))
        #expect(step("/cb") == .match(""))
    }

    @Test(arguments: ["/cb/", "/CB", "/c%62", "//cb", "/", "/cb/done", "/favicon.ico", "*", "/./cb"])
    mutating func `another path is not found`(_ path: String) { #expect(status(path) == 404) }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:4712", "localhost:4711", "evil.example:4711", "", "127.0.0.1:4711.", "127.0.0.1:04711",
    ])
    mutating func `another host is misdirected`(_ authority: String) {
        #expect(status("/cb", authority: authority) == 421)
    }

    @Test mutating func `the default port may be left out`() {
        routes = Self.routes(host: "localhost", port: 80)
        #expect(step("/cb", authority: "localhost") == .match(""))
        #expect(step("/cb", authority: "localhost:80") == .match(""))
        #expect(status("/cb", authority: "localhost:81") == 421)
    }

    @Test(arguments: ["HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "BREW", "get"])
    mutating func `the response to another method names the allowed one`(_ method: String) throws {
        let response = try #require(step("/cb", method: method).ignored)
        #expect(response.status == 405)
        #expect(response["allow"] == "GET")
        #expect(response.body.isEmpty)
    }

    private static let preflight = [
        "Origin: https://accounts.example", "Access-Control-Request-Method: GET",
        "Access-Control-Request-Private-Network: true",
    ]

    /// Providers whose page delivers the code with `fetch()`.
    @Test mutating func `a page may deliver the redirect by a script`() throws {
        let response = try #require(step("/cb", method: "OPTIONS", fields: Self.preflight).response)
        #expect(response.status == 200 && response["access-control-allow-origin"] == "https://accounts.example")
        #expect(response["access-control-allow-methods"] == "GET" && response["vary"] == "Origin")
        #expect(response["access-control-allow-private-network"] == "true")
        #expect(step("/cb?state=a", fields: [Self.preflight[0], "Sec-Fetch-Mode: cors"]) == .match("state=a"))
        let redirect = try #require(lastRequest)
        for (isAccepted, status) in [(true, 200), (false, 400)] {
            let response = try WireResponse(routes.response(to: redirect, isAccepted: isAccepted))
            #expect(response.status == status)
            #expect(response["access-control-allow-origin"] == "https://accounts.example")
        }
    }

    @Test(arguments: [
        ("/other", preflight), ("/open/x", preflight), ("/cb", Array(preflight.dropFirst())), ("/cb", [preflight[0]]),
        ("/cb", ["Origin: http://accounts.example"] + preflight.dropFirst()),
        ("/cb", ["Origin: https://accounts.example\"x"] + preflight.dropFirst()),
        ("/cb", [preflight[0], "Access-Control-Request-Method: POST"]),
    ])
    mutating func `another preflight is refused without a word`(path: String, fields: [String]) throws {
        #expect(step(path, method: "OPTIONS", fields: fields) == .ignore(RedirectResponse(status: 405).bytes))
    }

    @Test mutating func `a browser that asks for https is noticed`() {
        var request = routes.newRequest()
        let step = routes.read([22, 3, 1, 2, 0, 1][...], of: &request, in: .open)
        guard case .ignore(let response, let obstacle) = step else { return #expect(Bool(false), "\(step)") }
        #expect((try? WireResponse(response).status) == 400 && obstacle?.kind == .httpsRequested)
        // Only at the beginning of a connection.
        #expect(routes.read(Array("GET".utf8)[...], of: &request, in: .open) == .readMore)
        guard case .ignore(_, nil) = routes.read([22, 3, 1][...], of: &request, in: .open) else {
            return #expect(Bool(false), "an obstacle within a request")
        }
        // Nor if it has https already.
        var secure = RedirectRoutes(
            hosts: ["127.0.0.1"], port: 4711, isSecure: true, path: "/cb", secret: "secret", headLimit: 1024)
        request = secure.newRequest()
        guard case .ignore(_, nil) = secure.read([22, 3, 1][...], of: &request, in: .open) else {
            return #expect(Bool(false), "an obstacle within https")
        }
    }

    @Test func `the default port of https may be left out of Host`() {
        for (port, isSecure, isServed) in [
            (443, true, true), (80, true, false), (80, false, true), (443, false, false),
        ] {
            var routes = RedirectRoutes(
                hosts: ["localhost"], port: UInt16(port), isSecure: isSecure, path: "/cb", secret: "s", headLimit: 1024)
            var request = routes.newRequest()
            let text = AppAuthTests.request("/cb?a=b", host: "localhost")
            let step = routes.read(Array(text.utf8)[...], of: &request, in: .open)
            #expect((step == .match("a=b")) == isServed, "\(port) \(isSecure)")
        }
    }

    @Test(
        arguments: [
            ("/cb?code=a", "localhost:4711", true), ("/cb", "127.0.0.1:4712", true), ("/cb", "[::1]:4712", true),
            ("/open/x", "localhost:4712", true), ("/other", "localhost:4711", false),
            ("/cb/?code=a", "127.0.0.1:4711", true), ("/cb/", "localhost:4711", true),
            ("/cb//", "127.0.0.1:4711", false),
            ("/cb/", "evil.example:4711", false), ("/c", "127.0.0.1:4711", false),
            ("/cb", "evil.example:4711", false),
            ("/cb", "localhost:<b>", false), ("/cb", "localhost", false),
        ])
    mutating func `a browser that comes to another loopback address, or is a slash off, is noticed`(
        path: String, host: String, isNoticed: Bool
    ) {
        _ = routes.oneTimeURL(secret: "x") { "https://a.example/end" }
        var request = routes.newRequest()
        let step = routes.read(
            Array("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)[...], of: &request, in: .open)
        guard case .ignore(let response, let obstacle) = step else { return #expect(Bool(false), "\(step)") }
        let status = try? WireResponse(response).status
        #expect(status == (host == "127.0.0.1:4711" ? 404 : 421))
        #expect((obstacle?.kind == .otherAddress) == isNoticed)
        let slash = path.hasPrefix("/cb/") ? "/cb/ instead of 127.0.0.1:4711/cb:" : " instead of 127.0.0.1:4711:"
        if let obstacle { #expect(obstacle.message.contains("came to \(host)\(slash)")) }
    }

    @Test(arguments: ["Sec-Purpose: prefetch;prerender", "Purpose: prefetch", "Sec-Purpose: Prefetch"])
    mutating func `a prefetch uses nothing up`(_ field: String) throws {
        let link = routes.oneTimeURL(secret: "x") { "https://a.example/end" }
        let path = try #require(link.wholeMatch(of: /http:\/\/127\.0\.0\.1:4711(\/.*)/)?.1).description
        #expect(status("/cb", fields: [field]) == 503)
        #expect(status(path, fields: [field]) == 503)
        #expect(step(path).response?.status == 303)
    }

    /// An opener such as KDE's KIO asks for the type of the page before it starts a browser.
    @Test mutating func `a one-time link sends each GET on until a redirect is accepted`() throws {
        let link = routes.oneTimeURL(secret: "x") { "https://a.example/end?id_token_hint=t" }
        #expect(link == "http://127.0.0.1:4711/open/x")
        let type = try #require(step("/open/x", method: "HEAD").response)
        #expect(type.status == 200 && type["content-type"] == "text/html" && type["location"] == nil)
        #expect(status("/open/x", method: "POST") == 405)
        #expect(status("/open/x", authority: "evil.example:4711") == 421)
        #expect(status("/open/y") == 404)
        #expect(routes.hasUnusedOneTimeURL)
        for _ in 0..<2 {
            let response = try #require(step("/open/x").response)
            #expect(response.status == 303)
            #expect(response["location"] == "https://a.example/end?id_token_hint=t")
            #expect(!routes.hasUnusedOneTimeURL && !routes.areOneTimeURLsShown)
        }
        #expect(step("/open/x", fields: ["Sec-Fetch-Mode: navigate"]).response?.status == 303)
        #expect(routes.areOneTimeURLsShown)
        for method in ["GET", "HEAD"] {
            let late = step("/open/x", method: method, in: .accepted).ignored
            #expect(late?.status == (method == "GET" ? 410 : 405))
        }
    }

    @Test mutating func `if another user's program has opened a one-time link, the user learns of it`() throws {
        _ = routes.oneTimeURL(secret: "x") { "https://a.example/" }
        var request = routes.newRequest(isForeign: true)
        let head = Array("GET /open/x HTTP/1.1\r\nHost: 127.0.0.1:4711\r\n\r\n".utf8)
        #expect(routes.read(head[...], of: &request, in: .open).response?.status == 303)
        #expect(status("/open/x") == 410)
    }

    @Test mutating func `without a redirect only one-time links are served`() {
        routes = Self.routes(path: nil, formLimit: 100)
        #expect(routes.redirectURIs.isEmpty)
        #expect(routes.oneTimeURL(secret: "x") { "https://a.example/" } == "http://127.0.0.1:4711/open/x")
        #expect(status("/callback?state=s") == 404)
        #expect(status("/", method: "POST") == 405)
        #expect(status("/done/secret") == 404)
        #expect(step("/open/x").response?.status == 303)
    }

    @Test mutating func `the outcome page is there for a browser that was sent to it, once it is known`() throws {
        #expect(status("/cb/done/secret") == 404)
        _ = step("/cb")
        let redirect = try #require(lastRequest)
        let sentOn = try WireResponse(routes.response(to: redirect, isAccepted: true))
        #expect(sentOn.status == 303)
        #expect(sentOn["location"] == "http://127.0.0.1:4711/cb/done/secret")
        #expect(step("/cb/done/secret", in: .accepted) == .wait)
        #expect(status("/cb/done/other", in: .accepted) == 404)

        let page = CompletionPage.signedIn(appName: "Harbour")
        guard case .page(let bytes) = step("/cb/done/secret", in: .finished(page)) else {
            Issue.record("no page")
            return
        }
        let response = try WireResponse(bytes)
        #expect(response.status == 200)
        #expect(response.body.contains("You are signed in"))
        // As it is asked again for a browser that waits.
        let waiting = try #require(lastRequest)
        #expect(routes.step(for: waiting, in: .finished(page)) == .page(bytes))
    }

    @Test func `the outcome comes after an accepted redirect, and the first one stays`() {
        let page = CompletionPage.signedIn(appName: "Harbour")
        var phase = RedirectPhase.open
        phase.finish(with: page)
        #expect(phase == .open)
        phase = .accepted
        phase.finish(with: page)
        #expect(phase == .finished(page))
        phase.finish(with: .failed(appName: "Harbour"))
        #expect(phase == .finished(page))
    }

    @Test mutating func `after the accepted redirect every other is an old one`() {
        #expect(step("/cb") == .match(""))
        #expect(status("/cb", in: .accepted) == 400)
        let finished = step("/cb", in: .finished(.signedIn(appName: "Harbour")))
        #expect(finished.ignored?.body.contains("This sign-in was already used") == true)
    }

    @Test mutating func `a foreign redirect is refused with a reason`() throws {
        #expect(step("/cb?state=wrong<script>") == .match("state=wrong<script>"))
        let redirect = try #require(lastRequest)
        let response = try WireResponse(routes.response(to: redirect, isAccepted: false))
        #expect(response.status == 400)
        #expect(response.body.contains("does not belong to the current sign-in"))
        #expect(!response.body.contains("wrong"))
    }

    @Test mutating func `the end of the input closes the connection`() {
        var request = routes.newRequest()
        #expect(routes.read(Array("GET /cb".utf8)[...], of: &request, in: .open) == .readMore)
        #expect(routes.read([], of: &request, in: .open) == .close)
    }
}

extension ConnectionStep {
    /// The response to a request that has no effect.
    fileprivate var ignored: WireResponse? {
        if case .ignore(let bytes, _) = self { try? WireResponse(bytes) } else { nil }
    }

    /// The response to a request that has one.
    fileprivate var response: WireResponse? {
        if case .respond(let bytes) = self { try? WireResponse(bytes) } else { nil }
    }
}
