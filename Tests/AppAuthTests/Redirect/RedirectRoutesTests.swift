import AppAuth
import Testing

/// The listener's rules, without sockets.
struct RedirectRoutesTests {
    private var routes = RedirectRoutes(hosts: ["127.0.0.1"], port: 4711, path: "/cb", secret: "secret")

    private func head(
        _ path: String, query: String = "", method: String = "GET", authority: String = "127.0.0.1:4711",
        fields: [RequestHead.Field] = []
    ) -> RequestHead {
        RequestHead(method: method, authority: authority, path: path, query: query, fields: fields)
    }

    private mutating func status(_ head: RequestHead) -> Int? {
        if case .respond(let response) = routes.route(head) { response.status } else { nil }
    }

    @Test mutating func `the query of the exact path is matched as it is`() {
        #expect(routes.redirectURIs == ["http://127.0.0.1:4711/cb"])
        #expect(routes.route(head("/cb", query: "a=%zz&b=+")) == .match(query: "a=%zz&b=+"))
        #expect(routes.route(head("/cb")) == .match(query: ""))
    }

    @Test(arguments: ["/cb/", "/CB", "/c%62", "//cb", "/", "/cb/done", "/favicon.ico", "*", "/./cb"])
    mutating func `another path is not found`(_ path: String) { #expect(status(head(path)) == 404) }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:4712", "localhost:4711", "evil.example:4711", "", "127.0.0.1:4711.", "127.0.0.1:04711",
    ])
    mutating func `another host is misdirected`(_ authority: String) {
        #expect(status(head("/cb", authority: authority)) == 421)
    }

    @Test mutating func `the default port may be left out`() {
        routes = RedirectRoutes(hosts: ["localhost"], port: 80, path: "/cb", secret: "secret")
        #expect(routes.route(head("/cb", authority: "localhost")) == .match(query: ""))
        #expect(routes.route(head("/cb", authority: "localhost:80")) == .match(query: ""))
        #expect(status(head("/cb", authority: "localhost:81")) == 421)
    }

    @Test(arguments: ["HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT", "BREW", "get"])
    mutating func `another method is told what is allowed`(_ method: String) {
        guard case .respond(let response) = routes.route(head("/cb", method: method)) else {
            Issue.record("not answered")
            return
        }
        #expect(response.status == 405)
        #expect(response.fields == [.init(name: "Allow", value: "GET")])
        #expect(response.body.isEmpty)
    }

    @Test mutating func `a preflight is refused without a word`() {
        let preflight = head(
            "/cb", method: "OPTIONS", fields: [.init(name: "access-control-request-private-network", value: "true")])
        #expect(routes.route(preflight) == .respond(RedirectResponse(status: 405)))
    }

    @Test(arguments: [("sec-purpose", "prefetch;prerender"), ("purpose", "prefetch"), ("sec-purpose", "Prefetch")])
    mutating func `a prefetch uses nothing up`(_ name: String, _ value: String) throws {
        let link = routes.oneTimeURL(to: "https://a.example/end", secret: "x")
        let path = try #require(link.wholeMatch(of: /http:\/\/127\.0\.0\.1:4711(\/.*)/)?.1).description
        let fields = [RequestHead.Field(name: name, value: value)]
        #expect(status(head("/cb", fields: fields)) == 503)
        #expect(status(head(path, fields: fields)) == 503)
        #expect(status(head(path)) == 303)
    }

    @Test mutating func `a one-time link sends one GET on`() throws {
        let link = routes.oneTimeURL(to: "https://a.example/end?id_token_hint=t", secret: "x")
        #expect(link == "http://127.0.0.1:4711/open/x")
        #expect(status(head("/open/x", method: "HEAD")) == 405)
        #expect(status(head("/open/x", authority: "evil.example:4711")) == 421)
        #expect(status(head("/open/y")) == 404)
        guard case .respond(let response) = routes.route(head("/open/x")) else {
            Issue.record("not answered")
            return
        }
        #expect(response.status == 303)
        #expect(response.fields == [.init(name: "Location", value: "https://a.example/end?id_token_hint=t")])
        #expect(status(head("/open/x")) == 410)
    }

    @Test mutating func `without a redirect only one-time links are served`() {
        routes = RedirectRoutes(hosts: ["127.0.0.1"], port: 4711, path: nil, secret: "secret", formLimit: 100)
        #expect(routes.redirectURIs.isEmpty)
        #expect(routes.oneTimeURL(to: "https://a.example/", secret: "x") == "http://127.0.0.1:4711/open/x")
        #expect(status(head("/callback", query: "state=s")) == 404)
        #expect(status(head("/", method: "POST")) == 405)
        #expect(status(head("/done/secret")) == 404)
        #expect(status(head("/open/x")) == 303)
    }

    @Test mutating func `the outcome is there for those who were sent to it, when it is known`() throws {
        let page = CompletionPage.signedIn(appName: "Harbour")
        #expect(status(head("/cb/done/secret")) == 404)
        routes.finish(with: page)
        #expect(routes.phase == .open)

        let sentOn = routes.accept(head("/cb"))
        #expect(sentOn.status == 303)
        #expect(sentOn.fields == [.init(name: "Location", value: "http://127.0.0.1:4711/cb/done/secret")])
        #expect(routes.route(head("/cb/done/secret")) == .hold)
        #expect(status(head("/cb/done/other")) == 404)

        routes.finish(with: page)
        routes.finish(with: .failed(appName: "Harbour"))
        guard case .page(let response) = routes.route(head("/cb/done/secret")) else {
            Issue.record("no page")
            return
        }
        #expect(response.status == 200)
        #expect(response.body.contains("You are signed in"))
    }

    @Test mutating func `after the accepted redirect every other is an old one`() {
        #expect(routes.responseIfUsed(head("/cb")) == nil)
        _ = routes.accept(head("/cb"))
        #expect(routes.responseIfUsed(head("/cb"))?.status == 400)
        routes.finish(with: .signedIn(appName: "Harbour"))
        #expect(routes.responseIfUsed(head("/cb"))?.body.contains("This sign-in was already used") == true)
        #expect(routes.ignoredRequests == 2)
    }

    @Test mutating func `a foreign redirect is counted and told so`() {
        let response = routes.ignore(head("/cb", query: "state=wrong<script>"))
        #expect(response.status == 400)
        #expect(response.body.contains("does not belong to the current sign-in"))
        #expect(!response.body.contains("wrong"))
        #expect(routes.ignoredRequests == 1)
        #expect(routes.phase == .open)
    }
}
