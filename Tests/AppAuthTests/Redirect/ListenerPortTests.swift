import AppAuth
import TestFixtures
import Testing

/// Which port and address a listener takes.
@Suite(.timeLimit(.minutes(5)))
struct ListenerPortTests {
    /// A listener on a port that no connection of another test is given by the system, so that it is free again later.
    private static func onQuietPort(_ host: LoopbackRedirectListener.Host = .ipv4) throws -> LoopbackRedirectListener {
        try LoopbackRedirectListener(host: host, ports: [UInt16(freePort())])
    }

    @Test func `the redirect URI names the listening address`() throws {
        let v4 = try LoopbackRedirectListener()
        #expect(v4.redirectURI == "http://127.0.0.1:\(v4.port)/callback")
        let v6 = try LoopbackRedirectListener(host: .ipv6, path: "/")
        #expect(v6.redirectURI == "http://[::1]:\(v6.port)/")
        let both = try LoopbackRedirectListener(host: .localhost, path: "/a/b%20c")
        #expect(both.redirectURI == "http://localhost:\(both.port)/a/b%20c")
        #expect(v4.port > 0 && v6.port > 0 && both.port > 0)
    }

    @Test func `each address family is reached where it was asked for, and nowhere else`() async throws {
        let v4 = try LoopbackRedirectListener()
        #expect(try await v4.get("/x").status == 404)
        let v6 = try LoopbackRedirectListener(host: .ipv6)
        #expect(try await v6.get("/x", v6: true).status == 404)
        // Another test may have the same port of the other family, but hardly five times in a row.
        #expect(try (1...5).contains { _ in try !isReached(.ipv4, overV6: true) })
        #expect(try (1...5).contains { _ in try !isReached(.ipv6, overV6: false) })
    }

    private func isReached(_ host: LoopbackRedirectListener.Host, overV6 v6: Bool) throws -> Bool {
        let listener = try LoopbackRedirectListener(host: host)
        defer { listener.close() }
        do { _ = try WireClient(listener.port, v6: v6) } catch is WireError { return false }
        return true
    }

    @Test(arguments: [false, true])
    func `localhost is reached by both families on one port`(_ v6: Bool) async throws {
        let listener = try LoopbackRedirectListener(host: .localhost)
        async let query = listener.redirect(state: "s")
        #expect(try await listener.get("/callback?state=s", v6: v6).status == 303)
        #expect(try await query == "state=s")
    }

    @Test(arguments: [false, true])
    func `both addresses are served on one port, each by its own name`(_ v6: Bool) async throws {
        let listener = try LoopbackRedirectListener(host: .both)
        let (port, host) = (listener.port, v6 ? "[::1]" : "127.0.0.1")
        #expect(
            listener.redirectURIs == ["http://127.0.0.1:\(port)/callback", "http://[::1]:\(port)/callback"])
        #expect(listener.redirectURI == listener.redirectURIs.first)
        async let query = listener.redirect(state: "s")
        let responses = try await onThread {
            try ["localhost:\(port)", "\(host):\(port)"].map { host in
                let client = try WireClient(port, v6: v6)
                client.send(request("/callback?state=s", host: host))
                return try client.response()
            }
        }
        #expect(responses.map(\.status) == [421, 303])
        // The browser stays at the address that it came to.
        #expect(responses[1]["location"]?.hasPrefix("http://\(host):\(port)/callback/done/") == true)
        #expect(try await query == "state=s")
    }

    @Test func `a random component makes an address that cannot be guessed`() async throws {
        let listeners = try (0..<2).map { _ in try LoopbackRedirectListener(path: "/a/", addsRandomComponent: true) }
        let paths = listeners.map { $0.path(of: $0.redirectURI) ?? "" }
        #expect(paths[0] != paths[1])
        for path in paths { #expect(path.wholeMatch(of: /\/a\/[A-Za-z0-9_-]{22}/) != nil) }
        #expect(try LoopbackRedirectListener(addsRandomComponent: true).redirectURI.contains("/callback/"))

        async let query = listeners[0].redirect(state: "s")
        for wrong in ["/a/", "/a", paths[1], paths[0] + "/", String(paths[0].dropLast())] {
            #expect(try await listeners[0].get(wrong + "?state=s").status == 404)
        }
        let sentOn = try await listeners[0].get(paths[0] + "?state=s")
        #expect(sentOn.status == 303)
        #expect(sentOn["location"]?.hasPrefix(listeners[0].redirectURI + "/done/") == true)
        #expect(try await query == "state=s")
    }

    @Test func `the port is held from the bind to the end`() async throws {
        let listener = try LoopbackRedirectListener.patient(.both)
        let sockets = try ListeningSockets(at: listener.port)
        let ports = [listener.port]
        func expectHeld() throws {
            #expect(try ListeningSockets(at: listener.port) == sockets)
            #expect(throws: AuthError.self) { try LoopbackRedirectListener(ports: ports) }
            #expect(throws: AuthError.self) { try LoopbackRedirectListener(host: .ipv6, ports: ports) }
        }
        try expectHeld()
        async let query = listener.redirect(state: "s")
        let done = try #require(listener.path(of: try await listener.get("/callback?state=s")["location"]))
        _ = try await query
        try expectHeld()
        async let page = listener.get(done)
        await listener.finish(with: .signedIn())
        #expect(try await page.status == 200)
        #expect(try sockets.areClosed)
    }

    @Test func `a taken port is named`() throws {
        let first = try LoopbackRedirectListener()
        let error = #expect(throws: AuthError.self) { try LoopbackRedirectListener(ports: [first.port]) }
        #expect(error?.code == .listener)
        #expect(error?.stage == .redirect)
        #expect(
            error?.message == "no free port on 127.0.0.1 for the redirect: port \(first.port): "
                + "Address already in use on 127.0.0.1")
    }

    @Test func `several ports are tried in order`() throws {
        let first = try LoopbackRedirectListener()
        let second = try Self.onQuietPort()
        let free = second.port
        second.close()
        let third = try LoopbackRedirectListener(ports: [first.port, free, 0])
        #expect(third.port == free)
        #expect(try LoopbackRedirectListener(ports: [first.port, free, 0]).port != free)
        let error = #expect(throws: AuthError.self) { try LoopbackRedirectListener(ports: [first.port, free]) }
        #expect(error?.message.contains("port \(first.port): ") == true)
        #expect(error?.message.contains("port \(free): ") == true)
        #expect(throws: AuthError.self) { try LoopbackRedirectListener(ports: []) }
    }

    @Test func `both families have to be free, and none is kept if one is not`() throws {
        let v6 = try Self.onQuietPort(.ipv6)
        let error = #expect(throws: AuthError.self) { try LoopbackRedirectListener(host: .both, ports: [v6.port]) }
        #expect(
            error?.message == "no free port on 127.0.0.1 and [::1] for the redirect: port \(v6.port): "
                + "Address already in use on [::1]")
        #expect(throws: AuthError.self) { try LoopbackRedirectListener(host: .localhost, ports: [v6.port]) }
        #expect(try LoopbackRedirectListener(ports: [v6.port]).port == v6.port)
    }

    @Test func `a port can be taken again right after it was served`() async throws {
        let first = try Self.onQuietPort()
        let port = first.port
        #expect(try await first.get("/x").status == 404)
        first.close()
        #expect(try LoopbackRedirectListener(ports: [port]).port == port)
    }

    @Test(arguments: [
        "", "callback", "/a?b", "/a#b", "/a b", "/ü", "/a/../b", "/.", "/%2e%2E/b", "/a%2", "/a%zz", "/a\r\n", "/a\\b",
        "/a\"",
    ])
    func `a path that a browser would change is refused`(_ path: String) {
        let error = #expect(throws: AuthError.self) { try LoopbackRedirectListener(path: path) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test(arguments: ["/", "/a", "/a/", "/a.b/..c/%20~;=@:!$&'()*+,_-"])
    func `a path of RFC 3986 is served as it is`(_ path: String) async throws {
        let listener = try LoopbackRedirectListener(path: path)
        async let query = listener.redirect(state: "s")
        #expect(try await listener.get(path + "?state=s").status == 303)
        #expect(try await query == "state=s")
    }
}
