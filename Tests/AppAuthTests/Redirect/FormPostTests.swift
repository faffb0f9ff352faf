import AppAuth
import Testing

/// The redirect of `response_mode=form_post`, over real sockets.
@Suite(.timeLimit(.minutes(5)))
struct FormPostTests {
    private let listener: LoopbackRedirectListener

    init() throws { listener = try .patient(responseMode: .formPost) }

    private static let type = "Content-Type: application/x-www-form-urlencoded"

    private func post(
        _ form: String, to path: String = "/callback", host: String? = nil, fields: [String]? = nil
    ) async throws -> WireResponse {
        let fields = fields ?? [Self.type, "Content-Length: \(form.utf8.count)"]
        let text = request(path, host: host ?? listener.authority, method: "POST", fields: fields) + form
        return try await listener.send(Array(text.utf8))
    }

    @Test func `the form is matched as the browser sent it, and the browser gets the outcome`() async throws {
        async let form = listener.redirect(state: "s1")
        let sentOn = try await post("code=a%2Fb+c&state=s1&iss=https%3A%2F%2Fa.example")
        #expect(try await form == "code=a%2Fb+c&state=s1&iss=https%3A%2F%2Fa.example")
        #expect(sentOn.status == 303)
        let done = try #require(listener.path(of: sentOn["location"]))
        async let page = listener.get(done)
        await listener.finish(with: .signedIn(appName: "Harbour"))
        #expect(try await page.body.contains("You are signed in"))
    }

    @Test func `a form with another state changes nothing, and neither does a second one with the right state`()
        async throws
    {
        let waiting = Task { try await listener.redirect(state: "s1") }
        let foreign = try await post("error=access_denied&state=s2")
        #expect(foreign.status == 400)
        #expect(foreign.body.contains("does not belong to the current sign-in"))
        #expect(try await post("").status == 400)
        #expect(try await post("code=c&state=s1").status == 303)
        #expect(try await waiting.value == "code=c&state=s1")
        #expect(try await post("code=d&state=s1").body.contains("already used"))
        #expect(listener.ignoredRequests == 3)
    }

    @Test func `a form that comes before a caller waits for it is kept`() async throws {
        let (port, authority) = (listener.port, listener.authority)
        let browser = try await onThread {
            let client = try WireClient(port)
            let fields = [Self.type, "Content-Length: 15"]
            client.send(request("/callback", host: authority, method: "POST", fields: fields) + "code=c&state=s1")
            return client
        }
        #expect(try await onThread { !browser.isReadable(within: 100) })
        #expect(try await listener.redirect(state: "s1") == "code=c&state=s1")
        #expect(try await onThread { try browser.response() }.status == 303)
    }

    @Test func `a form may come in pieces, behind its head`() async throws {
        async let form = listener.redirect(state: "s1")
        let (port, authority) = (listener.port, listener.authority)
        let response = try await onThread {
            let client = try WireClient(port)
            let head = request(
                "/callback", host: authority, method: "POST", fields: [Self.type, "Content-Length: 15"])
            for byte in (head + "code=c&state=s1").utf8 { client.send([byte]) }
            return try client.response()
        }
        #expect(response.status == 303)
        #expect(try await form == "code=c&state=s1")
    }

    @Test func `a provider that responds by a query all the same is understood`() async throws {
        async let query = listener.redirect(state: "s1")
        #expect(try await listener.get("/callback?state=s1").status == 303)
        #expect(try await query == "state=s1")
    }

    @Test(arguments: [
        (["Content-Type: application/json", "Content-Length: 8"], 415), (["Content-Length: 8"], 415),
        ([type], 411), ([type, "Transfer-Encoding: chunked"], 411),
        ([type, "Content-Length: 8", "Content-Length: 9"], 400), ([type, "Content-Length: 16385"], 413),
        ([type, "Content-Length: 99999999999999999999"], 413),
    ])
    func `a body that is no form of a stated length is refused, and the wait continues`(
        _ fields: [String], _ status: Int
    ) async throws {
        let waiting = Task { try await listener.redirect(state: "s1") }
        #expect(try await post("state=s1", fields: fields).status == status)
        #expect(listener.ignoredRequests == 1)
        #expect(try await post("state=s1").status == 303)
        #expect(try await waiting.value == "state=s1")
    }

    @Test func `a form of the greatest length is read, and one in another encoding is not`() async throws {
        async let form = listener.redirect(state: "s1")
        let padding = String(repeating: "x", count: (16 << 10) - "state=s1&x=".utf8.count)
        #expect(try await post("state=s1&x=ü").status == 400)
        #expect(try await post("state=s1&x=" + padding).status == 303)
        #expect(try await form.utf8.count == 16 << 10)
    }

    @Test func `a form is accepted only at the exact path and host`() async throws {
        let elsewhere = try await post("state=s1", to: "/callback/")
        #expect(elsewhere.status == 405)
        #expect(elsewhere["allow"] == "GET")
        #expect(try await post("state=s1", host: "evil.example").status == 421)
        let other = try await listener.send(
            Array(request("/callback", host: listener.authority, method: "PUT").utf8))
        #expect(other["allow"] == "GET, POST")
        let preflight = try await listener.send(
            Array(request("/callback", host: listener.authority, method: "OPTIONS").utf8))
        #expect(preflight.status == 405)
        #expect(preflight["allow"] == nil)
    }

    @Test func `a form that does not come in time is ended`() async throws {
        var limits = ListenerLimits()
        limits.requestTime = .milliseconds(200)
        let listener = try LoopbackRedirectListener(responseMode: .formPost, limits: limits)
        let text = request(
            "/callback", host: listener.authority, method: "POST", fields: [Self.type, "Content-Length: 9"])
        #expect(try await listener.send(Array((text + "state=s1").utf8)).status == 408)
    }
}
