import AppAuthConcurrency
import Foundation
import Glibc
import HTTPTypes
import JOSE
import AppAuthTestProvider
import Testing

/// The HTTP below the protocol.
@Suite struct ServerTests {
    private func raw(_ text: String, _ provider: LocalProvider) async throws -> Wire.Response {
        try await Wire.exchange(Array(text.utf8), port: provider.port)
    }

    @Test func `a connection serves several requests, also when they come at once`() async throws {
        try await withLocalProvider { provider in
            let request = "GET /jwks HTTP/1.1\r\nHost: 127.0.0.1:\(provider.port)\r\n"
            let response = try await raw(
                request + "\r\n" + request + "\r\n" + request + "Connection: close\r\n\r\n", provider)
            let text = String(decoding: response.bytes, as: UTF8.self)
            #expect(text.components(separatedBy: "HTTP/1.1 200 OK").count == 4)
            #expect(provider.count(.keys) == 3)
        }
    }

    @Test func `a head or a body that is too large is refused, and the response arrives`() async throws {
        try await withLocalProvider { provider in
            let url = provider.url(.token)
            let head = try await Wire.send("GET", url, [("X-Large", String(repeating: "x", count: 33 << 10))])
            #expect(head.status == 431)
            #expect(try await Wire.send("GET", url + "?" + String(repeating: "x", count: 33 << 10)).status == 431)
            let type = [("Content-Type", "application/x-www-form-urlencoded")]
            for count in [(64 << 10) + 1, 256 << 10] {
                let body = try await Wire.send("POST", url, type, body: String(repeating: "x", count: count))
                #expect(body.status == 413)
            }
            let fits = try await Wire.send("POST", url, type, body: String(repeating: "x", count: 64 << 10))
            #expect(fits.status == 401)
            #expect(
                try await Wire.send("GET", url, [("X-Large", String(repeating: "x", count: 31 << 10))]).status == 405)
        }
    }

    /// RFC 9112 §5: optional white space around a value is not part of it.
    @Test(arguments: [
        "Host: 127.0.0.1:PORT \t\r\n", "Host:\t127.0.0.1:PORT\r\nAccept: \r\n",
        "Host: 127.0.0.1:PORT\r\nAuthorization: Bearer \r\n", "Host: 127.0.0.1:PORT\r\nX-Empty: \t \r\n",
    ])
    func `white space around the value of a header field is ignored`(fields: String) async throws {
        try await withLocalProvider { provider in
            let head = fields.replacing("PORT", with: "\(provider.port)")
            let response = try await raw("GET /jwks HTTP/1.1\r\n\(head)Connection: close \r\n\r\n", provider)
            #expect(response.status == 200)
        }
    }

    @Test(arguments: [
        "GET /jwks HTTP/1.1\r\n\r\n", "GET /jwks HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "nonsense\r\n\r\n",
        "GET http://127.0.0.1/jwks HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /jwks?a=%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "GET /jwks?a=%ff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        "\u{16}\u{3}\u{1}\u{2}",
    ])
    func `a malformed request is refused`(request: String) async throws {
        try await withLocalProvider { provider in
            let response = try await raw(request, provider)
            #expect(response.status == 400)
            #expect(response.header("Connection") == "close")
            #expect(provider.log.isEmpty)
        }
    }

    /// DNS rebinding: a page under a name that points at this machine.
    @Test func `another host name is refused`() async throws {
        try await withLocalProvider { (provider) async throws in
            func status(_ host: String) async throws -> Int? {
                try await raw("GET /jwks HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n", provider).status
            }
            #expect(try await status("evil.example:\(provider.port)") == 421)
            #expect(try await status("127.0.0.1") == 421)
            #expect(try await status("127.0.0.1:\(provider.port)") == 200)
            #expect(try await status("localhost:\(provider.port)") == 200)
        }
        try await withLocalProvider(.demo { $0.hostName = "op.example" }) { (provider) async throws in
            #expect(provider.issuer == "http://op.example:\(provider.port)")
            for (host, expected) in [("op.example", 200), ("evil.example", 421)] {
                let request = "GET /jwks HTTP/1.1\r\nHost: \(host):\(provider.port)\r\nConnection: close\r\n\r\n"
                #expect(try await raw(request, provider).status == expected)
            }
        }
    }

    @Test func `a client that does not get on is cut off`() async throws {
        try await withLocalProvider(.demo { $0.limits.requestTime = .milliseconds(100) }) { provider in
            for begun in ["", "GET /jwks HT", "POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab"] {
                let response = try await raw(begun, provider)
                #expect(response.bytes.isEmpty)
            }
        }
    }

    @Test func `connections beyond the limit are closed at once`() async throws {
        try await withLocalProvider(.demo { $0.limits.connections = 1 }) { provider in
            let hold = provider.hold(.keys)
            async let first = Wire.send("GET", provider.url(.keys))
            try await hold.arrived()
            #expect(try await Wire.send("GET", provider.url(.openIDConfiguration)).bytes.isEmpty)
            hold.release()
            #expect(try await first.status == 200)
            #expect(provider.count(.openIDConfiguration) == 0)
        }
    }

    @Test func `a client that waits for the word to continue gets it`() async throws {
        try await withLocalProvider { provider in
            let response = try await raw(
                "POST /token HTTP/1.1\r\nHost: 127.0.0.1:\(provider.port)\r\nContent-Length: 1\r\n"
                    + "Expect: 100-continue\r\nConnection: close\r\n\r\nx", provider)
            #expect(response.status == 100)
            #expect(response.text.hasPrefix("HTTP/1.1 400"))
        }
    }

    /// NIO ends the whole process for a connection that was accepted and never served.
    @Test func `connections may come while it stops`() async throws {
        for _ in 0..<100 {
            let provider = try await LocalProvider.start(.demo)
            let port = provider.port
            async let connections: Void = Self.connect(to: port, 20)
            await provider.stop()
            await connections
        }
    }

    /// Connects again and again, from a thread of its own; whether that succeeds is not the question.
    private static func connect(to port: Int, _ count: Int) async {
        await withCheckedContinuation { done in
            Thread.detachNewThread {
                for _ in 0..<count {
                    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                    _ = withAddress(port) { Glibc.connect(descriptor, $0, $1) }
                    close(descriptor)
                }
                done.resume()
            }
        }
    }

    @Test func `no other program gets the port of a stopped provider, and a new provider can have it`() async throws {
        let provider = try await LocalProvider.start(.demo)
        await provider.stop()
        let stranger = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(stranger) }
        #expect(withAddress(provider.port) { Glibc.bind(stranger, $0, $1) } == -1 && errno == EADDRINUSE)
        let next = try await LocalProvider.start(port: provider.port)
        #expect(next.port == provider.port)
        #expect(try await Wire.send("GET", next.url(.keys)).status == 200)
        await next.stop()
    }

    @Test func `a program that was started meanwhile does not keep the port open`() async throws {
        let provider = try await LocalProvider.start(.demo)
        var (input, program, actions) = ([CInt](repeating: 0, count: 2), pid_t(), posix_spawn_file_actions_t())
        try #require(pipe(&input) == 0)
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, input[0], 0)
        posix_spawn_file_actions_addclose(&actions, input[1])
        var arguments = [strdup("cat"), nil]
        try #require(posix_spawn(&program, "/bin/cat", &actions, nil, &arguments, environ) == 0)
        await provider.stop()
        let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #expect(withAddress(provider.port) { Glibc.connect(client, $0, $1) } == -1 && errno == ECONNREFUSED)
        for descriptor in input + [client] { close(descriptor) }
        waitpid(program, nil, 0)
        posix_spawn_file_actions_destroy(&actions)
        free(arguments[0])
    }

    @Test func `the log has each request as it was sent`() async throws {
        try await withLocalProvider { provider in
            _ = try await Wire.post(
                provider.url(.token) + "?q=1&q=2", [("a", "ä b"), ("a", "")], [("X-Two", "1"), ("x-two", "2")])
            _ = try await Wire.send("GET", provider.url(.none) + "missing")
            let request = try #require(provider.log.first)
            #expect(request.endpoint == .token)
            #expect(request.method == .post)
            #expect(request.path == "/token")
            #expect(request.query.values("q") == ["1", "2"])
            #expect(request.form.values("a") == ["ä b", ""])
            #expect(request.headers[values: try #require(HTTPField.Name("X-Two"))] == ["1", "2"])
            #expect(request.body == Array("a=%C3%A4%20b&a=".utf8))
            #expect(request.status == 400)
            #expect(request.redacted == "POST /token (?q ?q a a) → 400")
            #expect(provider.log.last?.endpoint == Endpoint.none)
            #expect(provider.log.last?.status == 404)
        }
    }

    @Test func `a provider that keeps no log still counts and reports`() async throws {
        let seen = LockedValue<[String]>([])
        try await withLocalProvider(
            .demo {
                $0.keepsLog = false
                $0.observer = { request in seen.withLock { $0.append(request.redacted) } }
            }
        ) { provider in
            _ = try await Wire.send("GET", provider.url(.keys))
            #expect(provider.log.isEmpty)
            #expect(provider.count(.keys) == 1)
        }
        #expect(seen.withLock { $0 } == ["GET /jwks → 200"])
    }
}

/// Calls `body` with the address of a port of 127.0.0.1.
private func withAddress<Result>(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    return withUnsafeBytes(of: &address) {
        body($0.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t($0.count))
    }
}
