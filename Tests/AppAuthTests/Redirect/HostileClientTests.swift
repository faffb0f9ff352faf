import AppAuth
import Glibc
import TestFixtures
import Testing

/// Every other client gets a short response or is closed in time, and the awaited redirect is still served.
@Suite(.timeLimit(.minutes(5)))
struct HostileClientTests {
    private let listener: LoopbackRedirectListener

    init() throws { listener = try LoopbackRedirectListener() }

    private func listener(_ change: (inout ListenerLimits) -> Void) throws -> LoopbackRedirectListener {
        var limits = ListenerLimits()
        change(&limits)
        return try LoopbackRedirectListener(limits: limits)
    }

    /// The awaited redirect is served and handed over.
    private func expectService(_ listener: LoopbackRedirectListener) async throws {
        async let query = listener.redirect(state: "right")
        #expect(try await listener.get("/callback?code=c&state=right").status == 303)
        #expect(try await query == "code=c&state=right")
    }

    @Test(arguments: [
        ("GET /favicon.ico HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        ("GET /callback/ HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        ("GET http://HOST/other HTTP/1.1\r\nHost: HOST\r\n\r\n", 404),
        ("GET http://evil.example/callback?state=right HTTP/1.1\r\nHost: HOST\r\n\r\n", 421),
        ("GET /callback?state=right HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        ("GET /callback?state=right HTTP/1.1\r\n\r\n", 400),
        ("GET /callback?state=right\r\n\r\n", 400),
        ("GET /callback?state=right HTTP/1.1\nHost: HOST\n\n", 400),
        ("GET /callback?state=right HTTP/2.0\r\nHost: HOST\r\n\r\n", 505),
        ("HEAD /callback?state=right HTTP/1.1\r\nHost: HOST\r\n\r\n", 405),
        ("POST /callback HTTP/1.1\r\nHost: HOST\r\nContent-Length: 11\r\n\r\nstate=right", 405),
        ("OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n", 405),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}", 400),
        ("SSH-2.0-OpenSSH_9.2\r\n", 400),
        ("\u{0}\u{1}\u{2}\u{3}", 400),
    ])
    func `a request that is not the redirect gets its response at once`(_ text: String, _ status: Int) async throws {
        let response = try await listener.send(Array(text.replacing("HOST", with: listener.authority).utf8))
        #expect(response.status == status)
        #expect(response["connection"] == "close")
        #expect(response["cache-control"] == "no-store")
        #expect(response["allow"] == (status == 405 && !text.hasPrefix("OPTIONS") ? "GET" : nil))
        if text.hasPrefix("HEAD") { #expect(response.body.isEmpty) }
        #expect(listener.ignoredRequests == 1)
        try await expectService(listener)
    }

    @Test func `a TLS client is refused at its hello`() async throws {
        let port = listener.port
        await #expect(throws: CommandFailure.self) {
            try await onThread { try run("openssl", "s_client", "-connect", "127.0.0.1:\(port)") }
        }
        #expect(listener.ignoredRequests == 1)
        try await expectService(listener)
    }

    @Test func `an absolute target for this listener is served`() async throws {
        async let query = listener.redirect(state: "right")
        let text = request("http://\(listener.authority)/callback?state=right", host: "proxy.example")
        #expect(try await listener.send(Array(text.utf8)).status == 303)
        #expect(try await query == "state=right")
    }

    /// The browser sends them to every port of the host.
    @Test func `many cookies of other programs do not keep a redirect out`() async throws {
        let cookies = (0..<24).map { "Cookie: program\($0)=" + String(repeating: "x", count: 4096) }
        async let query = listener.redirect(state: "right")
        #expect(try await listener.get("/callback?state=right", fields: cookies).status == 303)
        #expect(try await query == "state=right")
    }

    @Test(arguments: [("GET /", 414), ("GET / HTTP/1.1\r\nX: ", 431)])
    func `a head of 20 MB is refused, and the sender can read why`(_ start: String, _ status: Int) async throws {
        let port = listener.port
        let response = try await onThread {
            let client = try WireClient(port)
            client.send(start)
            let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 20)
            for _ in 0..<20 where !client.send(chunk) { break }
            return try client.response()
        }
        #expect(response.status == status)
        try await expectService(listener)
    }

    @Test func `a thousand half-open connections delay no other`() async throws {
        try raiseDescriptorLimit()
        let port = listener.port
        let clients = try await onThread {
            try (0..<1000).map { number in
                let client = try WireClient(port)
                if number.isMultiple(of: 2) { client.send("GET /callback?state=ri") }
                return client
            }
        }
        try await expectService(listener)
        // The 64 that may stay are the last ones.
        let closed = try await onThread { clients.prefix(900).filter { $0.isReadable(within: 1000) }.count }
        #expect(closed == 900)
    }

    @Test func `the browser that waits for its page is not pushed out`() async throws {
        try raiseDescriptorLimit()
        async let query = listener.redirect(state: "right")
        let done = try #require(listener.path(of: try await listener.get("/callback?state=right")["location"]))
        _ = try await query
        let (port, authority) = (listener.port, listener.authority)
        let (browser, clients) = try await onThread {
            let browser = try WireClient(port)
            browser.send(request(done, host: authority))
            return (browser, try (0..<300).map { _ in try WireClient(port) })
        }
        async let page = onThread { try browser.response() }
        await listener.finish(with: .signedIn(appName: "Harbour"))
        #expect(try await page.status == 200)
        #expect(clients.count == 300)
    }

    @Test func `a redirect that came before a caller waits for it is not pushed out`() async throws {
        try raiseDescriptorLimit()
        let (port, authority) = (listener.port, listener.authority)
        let (browser, clients) = try await onThread {
            let browser = try WireClient(port)
            browser.send(request("/callback?state=right", host: authority))
            return (browser, try (0..<300).map { _ in try WireClient(port) })
        }
        async let response = onThread { try browser.response() }
        let query = try await withTimeout(.seconds(60), .redirect, "the redirect was not kept") { [listener] in
            try await listener.redirect(state: "right")
        }
        #expect(query == "state=right")
        #expect(try await response.status == 303)
        #expect(clients.count == 300)
    }

    @Test func `the limits are those that the documentation promises`() {
        let limits = ListenerLimits()
        #expect(limits.headBytes == 128 << 10 && limits.formBytes == 16 << 10)
        #expect(limits.requestTime == .seconds(5) && limits.farewellTime == .seconds(1))
        #expect(limits.pageTime == .seconds(1) && limits.hurriedPageTime == .milliseconds(50))
        #expect(limits.connections == 64 && limits.backlog == 1024)
    }

    /// In a process of its own, since every descriptor is taken.
    @Test func `where descriptors run out, the listener waits a moment and continues`() async {
        await #expect(processExitsWith: .success) {
            let listener = try LoopbackRedirectListener.patient()
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            // It names itself when it runs.
            try await waitUntil { !ProcessStatus.listenerTasks.isEmpty }
            let thread = try #require(ProcessStatus.listenerTasks.first)
            let schedstat = open("/proc/self/task/\(thread)/schedstat", O_RDONLY)
            var taken: [Int32] = []
            while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 { taken.append(descriptor) }
            try #require(WireClient.connectV4(client, listener.port) == 0)
            let before = ProcessStatus.nanoseconds(schedstat)
            poll(nil, 0, 500)
            // It does not spin: then it would run all the time.
            let running = ProcessStatus.nanoseconds(schedstat) - before
            try #require(running < 50_000_000, "\(running) ns")
            for descriptor in taken { close(descriptor) }
            let start = ContinuousClock.now
            let text = request("/nothing", host: listener.authority)
            try #require(send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count)
            var polled = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            try #require(poll(&polled, 1, 60_000) == 1)
            try #require(ContinuousClock.now - start < .seconds(10))
        }
    }

    @Test func `where descriptors run out, a connection that sends nothing gives way`() async {
        await #expect(processExitsWith: .success) {
            let listener = try LoopbackRedirectListener.patient()
            let (silent, client) = (
                socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0), socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            )
            let before = ProcessStatus.listenerDescriptors
            try #require(WireClient.connectV4(silent, listener.port) == 0)
            try await waitUntil { ProcessStatus.listenerDescriptors > before }
            while open("/dev/null", O_RDONLY) >= 0 {}
            try #require(WireClient.connectV4(client, listener.port) == 0)
            let text = request("/nothing", host: listener.authority)
            try #require(send(client, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count)
            var polled = pollfd(fd: client, events: Int16(POLLIN), revents: 0)
            try #require(poll(&polled, 1, 10_000) == 1)
        }
    }

    @Test func `a thousand requests at once all get whole responses`() async throws {
        try raiseDescriptorLimit()
        let (port, authority) = (listener.port, listener.authority)
        let statuses = try await onThread {
            let text = request("/nothing", host: authority)
            let clients = try (0..<1000).map { _ in
                let client = try WireClient(port)
                client.send(text)
                return client
            }
            return try clients.map { try $0.response().status }
        }
        #expect(statuses.allSatisfy { $0 == 404 })
        try await expectService(listener)
    }

    @Test func `a head that does not come in time is ended`() async throws {
        let listener = try listener { $0.requestTime = .seconds(1) }
        let port = listener.port
        let (silent, slow) = try await onThread {
            let (silent, slow) = (try WireClient(port), try WireClient(port))
            slow.send("GET /callback?state=right HTTP/1.1\r\nHost:")
            return (try silent.readAll(), try slow.response())
        }
        #expect(silent.isEmpty)
        #expect(slow.status == 408)
        try await expectService(listener)
    }

    @Test func `a slow sender within its time is served`() async throws {
        async let query = listener.redirect(state: "right")
        let (port, authority) = (listener.port, listener.authority)
        let response = try await onThread {
            let client = try WireClient(port)
            for byte in request("/callback?state=right", host: authority).utf8 { client.send([byte]) }
            return try client.response()
        }
        #expect(response.status == 303)
        #expect(try await query == "state=right")
    }

    @Test func `one request is served on a connection, even if it asks for more`() async throws {
        let text = request("/a", host: listener.authority, fields: ["Connection: keep-alive"])
        let response = try await listener.send(Array((text + text).utf8))
        #expect(response.status == 404)
        #expect(response["connection"] == "close")
        #expect(response.body == "Not Found\n")
    }

    @Test func `a client that has ended its sending side gets a response`() async throws {
        let (port, authority) = (listener.port, listener.authority)
        let response = try await onThread {
            let client = try WireClient(port)
            client.send(request("/a", host: authority))
            client.shutDownSending()
            return try client.response()
        }
        #expect(response.status == 404)
    }

    @Test func `a client that never reads its response is let go`() async throws {
        let listener = try listener {
            $0.farewellTime = .milliseconds(100)
            $0.connections = 1
        }
        let (port, authority) = (listener.port, listener.authority)
        let client = try await onThread {
            let client = try WireClient(port)
            client.send(request("/a", host: authority))
            return client
        }
        try await expectService(listener)
        #expect(try await onThread { try client.response().status } == 404)
    }
}
