import AppAuth
import Testing

/// The whole way of a redirect over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct RedirectFlowTests {
    private let listener: LoopbackRedirectListener

    init() throws { listener = try .patient() }

    /// Sends the awaited redirect, and returns the path that the browser is sent on to.
    private func signIn(code: String = "c", state: String = "s1") async throws -> String {
        async let query = listener.redirect(state: state)
        let sentOn = try await listener.get("/callback?code=\(code)&state=\(state)")
        #expect(try await query == "code=\(code)&state=\(state)")
        #expect(sentOn.status == 303)
        return try #require(listener.path(of: sentOn["location"]))
    }

    @Test func `the browser gets the outcome at an address without the code`() async throws {
        let sockets = try ListeningSockets(at: listener.port)
        // Longer than a random part of an address.
        let done = try await signIn(code: "code-1234567", state: "state-1234567")
        #expect(!done.contains("code-1234567") && !done.contains("state-1234567"))

        async let page = listener.get(done)
        await listener.finish(with: .signedIn(appName: "Harbour"))
        let shown = try await page
        #expect(shown.status == 200)
        #expect(shown.body.contains("<h1>You are signed in</h1>"))
        #expect(try sockets.areClosed)
    }

    @Test func `the browser is held until the outcome is known, and gets the true one`() async throws {
        let (port, authority, done) = (listener.port, listener.authority, try await signIn())
        let browser = try await onThread {
            let client = try WireClient(port)
            client.send(request(done, host: authority))
            return client
        }
        #expect(try await onThread { !browser.isReadable(within: 100) })
        async let page = onThread { try browser.response() }
        await listener.finish(with: .failed(appName: "Harbour", reason: "the nonce is another one"))
        #expect(try await page.body.contains("the nonce is another one"))
    }

    @Test func `a browser that comes for the page after the outcome gets it too`() async throws {
        let sockets = try ListeningSockets(at: listener.port)
        let done = try await signIn()
        let finished = Task { await listener.finish(with: .signedIn(appName: "Harbour")) }
        #expect(try await listener.get(done).status == 200)
        await finished.value
        #expect(try sockets.areClosed)
    }

    @Test func `a redirect that comes before a caller waits for it is kept`() async throws {
        let (port, authority) = (listener.port, listener.authority)
        let browser = try await onThread {
            let client = try WireClient(port)
            client.send(request("/callback?code=c&state=s1", host: authority))
            return client
        }
        #expect(try await onThread { !browser.isReadable(within: 100) })
        #expect(try await listener.redirect(state: "s1") == "code=c&state=s1")
        #expect(try await onThread { try browser.response() }.status == 303)
    }

    @Test(arguments: 0..<50)
    func `a redirect is dropped if its browser disconnects before a caller waits for it`(_: Int) async throws {
        let (port, authority) = (listener.port, listener.authority)
        try await onThread {
            let gone = try WireClient(port)
            gone.send(request("/callback?code=gone&state=s1", host: authority))
            gone.reset()
        }
        let waiting = Task { try await listener.redirect(state: "s1") }
        #expect(try await listener.get("/callback?code=c&state=s1").status == 303)
        #expect(try await waiting.value == "code=c&state=s1")
    }

    @Test func `a redirect is dropped if its browser disconnects after it was read`() async throws {
        let (port, authority) = (listener.port, listener.authority)
        let gone = try await onThread {
            let client = try WireClient(port)
            client.send(request("/callback?code=gone&state=s1", host: authority))
            return client
        }
        // The response shows that the listener has handled the earlier event.
        #expect(try await listener.get("/nothing").status == 404)
        gone.reset()
        let waiting = Task { try await listener.redirect(state: "s1") }
        #expect(try await listener.get("/callback?code=c&state=s1").status == 303)
        #expect(try await waiting.value == "code=c&state=s1")
    }

    @Test func `a thousand wrong states change nothing but a counter`() async throws {
        let (port, authority) = (listener.port, listener.authority)
        let waiting = Task { try await listener.redirect(state: "s1") }
        let statuses = try await onThread {
            try (0..<1000).map { number in
                let client = try WireClient(port)
                client.send(request("/callback?code=stolen&state=\(number)", host: authority))
                return try client.response().status
            }
        }
        #expect(statuses.allSatisfy { $0 == 400 })
        #expect(listener.ignoredRequests == 1000)
        #expect(try await listener.get("/callback?code=c&state=s1").status == 303)
        #expect(try await waiting.value == "code=c&state=s1")
    }

    @Test func `there is one result at most`() async throws {
        let waiting = Task { try await listener.redirect(state: "s1") }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<50 {
                group.addTask { try await listener.get("/callback?code=\(number)&state=s1").status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses.filter { $0 == 303 }.count == 1)
        #expect(statuses.filter { $0 == 400 }.count == 49)
        _ = try await waiting.value
        await #expect(throws: AuthError.self) { try await listener.redirect(state: "s1") }
    }

    @Test func `two cannot wait at once`() async throws {
        let first = Task { try await listener.redirect(state: "s1") }
        let second = Task { try await listener.redirect(state: "s1") }
        let (port, authority) = (listener.port, listener.authority)
        // Whichever came second is refused while the other waits; only then is there a redirect.
        let results = try await withThrowingTaskGroup(of: Result<String, any Error>.self) { group in
            group.addTask { await first.result }
            group.addTask { await second.result }
            let refused = try #require(try await group.next())
            let sent = try await onThread {
                let client = try WireClient(port)
                client.send(request("/callback?state=s1", host: authority))
                return try client.response().status
            }
            #expect(sent == 303)
            return [refused, try #require(try await group.next())]
        }
        #expect(throws: AuthError.self) { try results[0].get() }
        #expect(try results[1].get() == "state=s1")
    }

    @Test func `a page of five megabytes reaches a slow browser whole`() async throws {
        let done = try await signIn()
        let message = String(repeating: "ü", count: 2_500_000)
        async let page = listener.get(done)
        let text = CompletionPage.Text(language: "en", title: "", heading: "", message: message)
        await listener.finish(with: CompletionPage(texts: [text], isSuccess: true))
        #expect(try await page.body.contains(message))
    }

    @Test func `a one-time link sends the browser on until it is back`() async throws {
        let target = "https://provider.example/end?id_token_hint=e.y.J&state=ü\r\nSet-Cookie: x"
        let link = try #require(listener.path(of: listener.oneTimeURL(redirectingTo: target)))
        let other = try #require(listener.path(of: listener.oneTimeURL(redirectingTo: target)))
        #expect(link != other && !link.contains("e.y.J"))
        let sentOn = try await listener.get(link)
        #expect(sentOn.status == 303)
        #expect(
            sentOn["location"]
                == "https://provider.example/end?id_token_hint=e.y.J&state=%C3%BC%0D%0ASet-Cookie:%20x")
        #expect(sentOn["set-cookie"] == nil)
        #expect(try await listener.get(link).status == 303)
        #expect(try await listener.get(other).status == 303)
        async let query = listener.redirect(state: "s1")
        _ = try await listener.get("/callback?state=s1")
        _ = try await query
        #expect(try await listener.get(link).status == 410)
    }

    /// The provider and the browser's history learn the redirect URI and the address of the page.
    @Test func `no address contains the secret of another one`() async throws {
        let listener = try LoopbackRedirectListener(addsRandomComponent: true)
        let links = (0..<2).map { _ in listener.oneTimeURL(redirectingTo: "https://provider.example") }
        async let query = listener.redirect(state: "s1")
        let path = try #require(listener.path(of: listener.redirectURI))
        let page = try await listener.get(path + "?state=s1")["location"]
        _ = try await query
        let secrets = try (links + [listener.redirectURI, #require(page)]).map { $0.split(separator: "/").last }
        #expect(Set(secrets).count == 4, "\(secrets)")
    }

    @Test func `the matcher gets the query as the browser sent it`() async throws {
        let waiting = Task { try await listener.redirect { $0.hasPrefix("state=s1") ? $0 : nil } }
        let query = "state=s1&code=%zz%00+%C3%BC&&a&=b&state=s1?;'"
        #expect(try await listener.get("/callback?" + query).status == 303)
        #expect(try await waiting.value == query)
    }
}
