import AppAuth
import AppAuthConcurrency
import AppAuthProxy
import AppAuthTestProvider
import Foundation
import TestFixtures
import Testing

@Suite(.timeLimit(.minutes(2))) struct WebSocketTests {
    /// The key and its response in RFC 6455 §1.3.
    private static let handshake = """
        GET /v1/chat HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Protocol: chat\r\nCookie: a=b\r\n\r\n
        """
    private static let switching = """
        HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n
        """

    /// An API that accepts, and returns what it gets.
    private static let echo: RawServer.Script = { connection in
        try connection.readRequest()
        try connection.send(switching + "\r\n")
        while true { try connection.send(try connection.read()) }
    }

    /// Opens a WebSocket.
    private static func open(_ proxy: ProxyFixture, _ handshake: String = handshake) async throws -> RawClient {
        let client = try RawClient(proxy.path)
        try client.send(handshake)
        #expect(try await client.read(until: "\r\n\r\n").status == 101)
        return client
    }

    @Test func `bytes pass in both directions, with the token and without cookies`() async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            // The first bytes come with the response.
            try connection.send(Self.switching + "Sec-WebSocket-Protocol: chat\r\nSet-Cookie: a=b\r\n\r\nfirst")
            while true { try connection.send(try connection.read()) }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            try client.send(Self.handshake)
            let response = try await client.read(until: "first")
            #expect(response.hasPrefix("HTTP/1.1 101 \r\n"))
            #expect(response.hasSuffix("\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfirst"))
            #expect(response.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"))
            #expect(response.contains("\r\nSec-WebSocket-Protocol: chat\r\n"))
            for name in ["Cookie", "Content-Security", "Access-Control"] { #expect(!response.contains(name)) }
            for text in ["one", "another"] {
                try client.send(text)
                #expect(try await client.read(text.utf8.count) == Array(text.utf8))
            }
            let request = try #require(proxy.api.requests.first)
            let token = try await proxy.state.freshAccessToken().value.reveal()
            #expect(request.values("Authorization") == ["Bearer \(token)"])
            #expect(request.values("Upgrade") == ["websocket"])
            #expect(request.values("Connection") == ["Upgrade"])
            #expect(request.values("Sec-WebSocket-Key") == ["dGhlIHNhbXBsZSBub25jZQ=="])
            #expect(request.values("Sec-WebSocket-Version") == ["13"])
            #expect(request.values("Sec-WebSocket-Protocol") == ["chat"])
            for name in ["Cookie", "Content-Length", "Transfer-Encoding", "Expect"] {
                #expect(request.values(name) == [], "\(name)")
            }
        }
    }

    /// An HTTP proxy (RFC 9110 §9.3.6).
    private static let tunnel: RawServer.Script = { connection in
        let port = try connection.readRequest().line.split { !$0.isNumber }[4]
        let server = try RawClient(port: UInt16(port) ?? 0)
        try connection.send("HTTP/1.1 200 Connected\r\n\r\n")
        Thread.detachNewThread {
            while let bytes = try? server.receive(), !bytes.isEmpty { try? connection.send(bytes) }
            connection.shutDown()
        }
        while true { try server.send(try connection.read()) }
    }

    /// 0.0.0.0 is this machine, and not a loopback host, for which no proxy is used.
    @Test(arguments: ["127.0.0.1", "0.0.0.0"])
    func `a WebSocket passes over TLS and a proxy, and ends with the server's Close frame`(_ host: String) async throws
    {
        let tunnel = try RawServer(Self.tunnel)
        defer { tunnel.stop() }
        try await withCertificate { files in
            try await WebSocketServer.run(files) { server in
                try await ProxyFixture.run(
                    at: "https://\(host):\(server.port)/v1/",
                    .init(additionalRoots: [files.certificate], proxy: .url("http://\(tunnel.authority)"))
                ) { proxy in
                    let client = try await Self.open(proxy)
                    try client.send(Self.frame(1, Array("text".utf8)))
                    #expect(try await client.read(6) == [0x81, 4] + Array("text".utf8))
                    let data = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* $0) }
                    try await onThread { try client.send(Self.frame(2, data)) }
                    #expect(try await client.read(10).prefix(2) == [0x82, 127])
                    #expect(try await client.read(data.count) == data)
                    try client.send(Self.frame(8, []))
                    #expect(try await client.read(2) == [0x88, 0])
                    #expect(try await client.readAll() == "")
                    #expect(tunnel.requests.count == (host == "0.0.0.0" ? 1 : 0))
                }
                // A server whose certificate is not trusted.
                try await ProxyFixture.run(at: "https://127.0.0.1:\(server.port)/v1/") { proxy in
                    let client = try RawClient(proxy.path)
                    try client.send(Self.handshake)
                    #expect(try await client.readAll().status == 502)
                }
            }
        }
    }

    /// A masked frame with a length of 64 bits (RFC 6455 §5.2).
    private static func frame(_ kind: UInt8, _ data: [UInt8]) -> [UInt8] {
        let mask: [UInt8] = [1, 2, 3, 4]
        let size = withUnsafeBytes(of: UInt64(data.count).bigEndian) { Array($0) }
        return [0x80 | kind, 0xFF] + size + mask + data.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    /// Each lacks one thing.
    @Test(arguments: [
        switching.replacing("s3pP", with: "S3pP"), switching.replacing("Sec-WebSocket-Accept", with: "X-Accept"),
        switching + "Sec-WebSocket-Accept: other\r\n", switching.replacing("Upgrade: WebSocket\r\n", with: ""),
        switching.replacing(": WebSocket", with: ": h2c"), switching.replacing("Connection: upgrade\r\n", with: ""),
        switching + "Content-Length: 0\r\n", switching + "Transfer-Encoding: chunked\r\n",
    ])
    func `a server that does not take part in the handshake gets no bytes of the client`(_ head: String) async throws {
        let rest = LockedValue<[UInt8]?>(nil)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(head + "\r\n")
            let bytes = try? connection.read()
            rest.withLock { $0 = bytes ?? [] }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            try client.send(Self.handshake + "GET /v1/smuggled HTTP/1.1\r\n")
            let response = try await client.readAll()
            #expect(response.status == 502)
            #expect(response.contains("\"code\":\"invalid_response\""))
            try await waitUntil { rest.withLock { $0 != nil } }
            #expect(rest.withLock { $0 } == [])
        }
    }

    @Test func `a 101 for another request is no response`() async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.switching + "\r\nbytes")
        } _: { proxy in
            let response = try await proxy.exchange(ProxyFixture.request())
            #expect(response.status == 502)
            #expect(!response.contains("bytes"))
        }
    }

    @Test func `any other response is passed on, and the connection has further requests`() async throws {
        let status = LockedValue("")
        try await ProxyFixture.run { connection in
            while true {
                let request = try connection.readRequest()
                try connection.reply(
                    status.withLock { $0 },
                    ["Location: http://\(request.values("Host")[0])/v1/new", "Sec-WebSocket-Version: 8"], body: "done")
            }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            for code in ["302 Found", "403 Forbidden", "426 Upgrade Required", "200 OK", "503 Busy"] {
                status.withLock { $0 = code }
                try client.send(Self.handshake)
                let response = try await client.read(until: "done")
                #expect(response.hasPrefix("HTTP/1.1 \(code.prefix(3)) \r\n"))
                #expect(response.contains("\r\nLocation: http://localhost/v1/new\r\n"))
                #expect(response.contains("\r\nSec-WebSocket-Version: 8\r\n"))
            }
        }
    }

    @Test func `a rejected token is refreshed, and the handshake is sent once more`() async throws {
        try await ProxyFixture.run { connection in
            guard connection.number == 0 else { return try Self.echo(connection) }
            try connection.readRequest()
            try connection.reply("401 Unauthorized", ["WWW-Authenticate: Bearer error=\"invalid_token\""])
            connection.waitForEnd()
        } _: { proxy in
            let client = try await Self.open(proxy)
            try client.send("bytes")
            #expect(try await client.read(5) == Array("bytes".utf8))
            let tokens = proxy.api.requests.map { $0.values("Authorization") }
            #expect(tokens.count == 2 && tokens[0] != tokens[1])
            #expect(proxy.api.requests.allSatisfy { $0.values("Sec-WebSocket-Key").count == 1 })
        }
    }

    @Test func `an ended session is answered with 503`() async throws {
        try await ProxyFixture.run(script: Self.echo) { proxy in
            _ = try await Self.open(proxy)
            try await proxy.state.signOut(revokingTokens: false)
            let client = try RawClient(proxy.path)
            try client.send(Self.handshake)
            let response = try await client.readAll()
            #expect(response.status == 503)
            #expect(response.contains("\"remedy\":\"sign-in login\""))
            #expect(proxy.api.requests.count == 1)
        }
    }

    @Test func `a page of an allowed origin may open one, and no other page`() async throws {
        try await ProxyFixture.run(allowing: ["http://localhost:5173"], script: Self.echo) { proxy in
            func handshake(_ port: Int) -> String {
                Self.handshake.replacing(
                    "Cookie: a=b", with: "Origin: http://localhost:\(port)\r\nSec-Fetch-Site: same-site")
            }
            _ = try await Self.open(proxy, handshake(5173))
            let client = try RawClient(proxy.path)
            try client.send(handshake(5174))
            #expect(try await client.readAll().status == 403)
            #expect(proxy.api.requests.count == 1)
        }
    }

    // MARK: the end

    /// At `localhost`, libcurl also tries ::1, with another socket.
    @Test(arguments: ["127.0.0.1", "localhost"])
    func `the end of the server ends the client, which gets all bytes`(_ host: String) async throws {
        try await ProxyFixture.run(at: "http://\(host):PORT/v1/") { connection in
            try connection.readRequest()
            try connection.send(Self.switching + "\r\n" + String(repeating: "b", count: 1 << 20))
        } _: { proxy in
            for _ in 0..<5 {
                let client = try RawClient(proxy.path)
                try client.send(Self.handshake)
                let all = try await client.readAll()
                #expect(all.hasSuffix("\r\n\r\n" + String(repeating: "b", count: 1 << 20)))
            }
        }
    }

    @Test func `the end of a server that reads nothing ends a client that writes`() async throws {
        let isFull = DispatchSemaphore(value: 0)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.switching + "\r\n")
            isFull.wait()
        } _: { proxy in
            defer { isFull.signal() }
            let client = try await Self.open(proxy)
            let sent = LockedValue(0)
            async let end: Void? = onThread {
                let block = [UInt8](repeating: 0, count: 1 << 16)
                while (try? client.send(block)) != nil { sent.withLock { $0 += block.count } }
            }
            try await Self.waitForStandstill(sent)
            // The buffers of the kernel, and the proxy's.
            #expect(sent.withLock { $0 } < 32 << 20)
            isFull.signal()
            try await end
        }
    }

    @Test func `a client that reads nothing stops the server`() async throws {
        let sent = LockedValue(0)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.switching + "\r\n")
            let block = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                try connection.send(block)
                sent.withLock { $0 += block.count }
            }
        } _: { proxy in
            let client = try await Self.open(proxy)
            try await Self.waitForStandstill(sent)
            #expect(sent.withLock { 0 < $0 && $0 < 32 << 20 })
            client.hangUp()
        }
    }

    /// Waits until nothing has moved for half a second.
    private static func waitForStandstill(_ sent: LockedValue<Int>) async throws {
        var last = 0
        while case let now = sent.withLock({ $0 }), now == 0 || now != last {
            last = now
            try await onThread { _ = usleep(500_000) }
        }
    }

    @Test func `the end of a client ends the server, which gets all bytes`() async throws {
        let received = LockedValue<[UInt8]>([])
        let hasEnded = LockedValue(false)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.switching + "\r\n")
            while let bytes = try? connection.read() { received.withLock { $0 += bytes } }
            hasEnded.withLock { $0 = true }
        } _: { proxy in
            let client = try await Self.open(proxy)
            try client.send("last")
            #expect(!hasEnded.withLock { $0 })
            client.hangUp()
            try await waitUntil { hasEnded.withLock { $0 } }
            #expect(received.withLock { $0 } == Array("last".utf8))
        }
    }

    @Test func `the server may respond to the last bytes of a client that has ended its side`() async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.switching + "\r\n")
            try connection.send(try connection.read())
        } _: { proxy in
            let client = try await Self.open(proxy)
            try client.send("last")
            client.endSending()
            #expect(try await client.readAll() == "last")
        }
    }

    @Test func `the end of the proxy ends open WebSockets`() async throws {
        let clients = LockedValue<[RawClient]>([])
        try await ProxyFixture.run(script: Self.echo) { proxy in
            for _ in 0..<3 {
                let client = try await Self.open(proxy)
                clients.withLock { $0.append(client) }
            }
        }
        for client in clients.withLock({ $0 }) { #expect(try await client.readAll() == "") }
    }
}
