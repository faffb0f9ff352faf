import AppAuth
import Testing

/// Which port and address a listener takes.
@Suite(.timeLimit(.minutes(5)))
struct ListenerPortTests {
    /// A listener on a port that no connection of another test is given by the system, so that it is free again later.
    private static func onQuietPort(_ host: LoopbackRedirectListener.Host = .ipv4) throws -> LoopbackRedirectListener {
        try LoopbackRedirectListener(host: host, ports: (0..<50).map { _ in .random(in: 10240..<32768) })
    }

    @Test func `the redirect URI names what is listened on`() throws {
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

    @Test func `a taken port is named`() throws {
        let first = try LoopbackRedirectListener()
        let error = #expect(throws: AuthError.self) { try LoopbackRedirectListener(ports: [first.port]) }
        #expect(error?.code == .listener)
        #expect(error?.stage == .redirect)
        #expect(error?.message.contains("port \(first.port): Address already in use") == true)
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
