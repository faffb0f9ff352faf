import AppAuth
import AppAuthConcurrency
import AppAuthProxy
import Foundation
import TestFixtures
import Testing

@Suite struct StreamingTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func `an event arrives before the response ends`() async throws {
        let mayEnd = DispatchSemaphore(value: 0)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.head + "8\r\ndata: 1\n\r\n")
            mayEnd.wait()
            try connection.send("8\r\ndata: 2\n\r\n0\r\n\r\n")
            connection.waitForEnd()
        } _: { proxy in
            defer { mayEnd.signal() }
            let client = try RawClient(proxy.path)
            try client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let first = try await client.read(until: "data: 1\n")
            #expect(first.status == 200)
            #expect(!first.contains("data: 2"))
            mayEnd.signal()
            #expect(try await client.readAll().hasSuffix("8\r\ndata: 2\n\r\n0\r\n\r\n"))
        }
    }

    @Test func `a part of an upload arrives before its end`() async throws {
        let arrived = LockedValue("")
        try await ProxyFixture.run { connection in
            while true {
                let bytes = try connection.read()
                arrived.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
                if arrived.withLock({ $0.hasSuffix("0\r\n\r\n") }) { try connection.reply(body: "done") }
            }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            try client.send(
                "POST /v1/items HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            try await waitUntil { arrived.withLock { $0.contains("first") } }
            try client.send("6\r\nsecond\r\n0\r\nTrailer: dropped\r\n\r\n")
            #expect(try await client.readAll().hasSuffix("\r\n\r\ndone"))
            #expect(arrived.withLock { $0.contains("Authorization: Bearer ") && $0.contains("6\r\nsecond\r\n") })
            #expect(arrived.withLock { !$0.contains("dropped") })
        }
    }

    @Test func `the server decides whether the client sends the body it expects to`() async throws {
        try await ProxyFixture.run { connection in
            while true {
                let head = String(decoding: try connection.read(), as: UTF8.self)
                if head.contains("/v1/refused") {
                    try connection.reply("413 Content Too Large", ["Connection: close"])
                    return
                }
                try connection.send("HTTP/1.1 100 Continue\r\n\r\n")
                let body = String(decoding: try connection.read(), as: UTF8.self)
                try connection.reply(body: body)
            }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            let rest = " HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
            try client.send("POST /v1/taken" + rest)
            #expect(try await client.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
            try client.send("body")
            #expect(try await client.read(until: "body").status == 200)
            try client.send("POST /v1/refused" + rest)
            #expect(try await client.readAll().status == 413)
        }
    }

    @Test func `a client that stops reading stops the server`() async throws {
        let sent = LockedValue(0)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
            let block = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                try connection.send(block)
                sent.withLock { $0 += block.count }
            }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            try client.send("GET /v1/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            _ = try await client.read(until: "\r\n\r\n")
            // Until nothing has moved for half a second.
            var last = -1
            while case let now = sent.withLock({ $0 }), now != last {
                last = now
                try await onThread { _ = usleep(500_000) }
            }
            // The buffers of the kernel, and the proxy's 64 KiB.
            #expect(last < 32 << 20, "\(last)")
            #expect(last > 0)
        }
    }

    @Test func `the end of a client ends the request`() async throws {
        let hasEnded = LockedValue(false)
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.head)
            connection.waitForEnd()
            hasEnded.withLock { $0 = true }
        } _: { proxy in
            let client = try RawClient(proxy.path)
            try client.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try await client.read(until: "\r\n\r\n")
            #expect(!hasEnded.withLock { $0 })
            client.hangUp()
            try await waitUntil { hasEnded.withLock { $0 } }
        }
    }

    @Test func `a response that breaks off is not complete for the client`() async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send(Self.head + "8\r\ndata: 1\n\r\n")
        } _: { proxy in
            let response = try await proxy.exchange(ProxyFixture.request())
            #expect(response.hasSuffix("data: 1\n\r\n"))
        }
    }

    @Test(arguments: [
        ("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", "4\r\nbody\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n", "4\r\nbody\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nTrailer: dropped\r\n\r\n", "4\r\nbody\r\n0\r\n\r\n"),
        ("Content-Length: 4\r\n\r\nbody", "body"), ("Connection: close\r\n\r\nbody", "4\r\nbody\r\n0\r\n\r\n"),
    ])
    func `a response has one end`(_ sent: String, _ body: String) async throws {
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n" + sent)
        } _: { proxy in
            let response = try await proxy.exchange(ProxyFixture.request())
            #expect(response.hasSuffix("\r\n\r\n" + body) && !response.contains("dropped"), "\(response)")
            #expect(response.contains("Content-Length: 4") == (body == "body"))
            #expect(response.contains("Transfer-Encoding: chunked") == (body != "body"))
        }
    }

    /// RFC 9110 §6.5: fields that describe the body, or that would act on other programs, are none that may come late.
    @Test(arguments: ["trailers", "deflate, Trailers", "trailersome", nil])
    func `a client that says so gets the trailers of a response`(te: String?) async throws {
        let takes = te?.lowercased().hasSuffix("trailers") == true
        try await ProxyFixture.run { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n")
            try connection.send("0\r\nX-Sum: 1\r\nSet-Cookie: a=b\r\nContent-Length: 9\r\nX-Last: 2\r\n\r\n")
        } _: { proxy in
            let fields = te.map { "TE: \($0)" } ?? "X-Other: 1"
            let response = try await proxy.exchange(ProxyFixture.request("GET /v1/items HTTP/1.1", fields))
            let end = takes ? "0\r\nX-Sum: 1\r\nX-Last: 2\r\n\r\n" : "0\r\n\r\n"
            #expect(response.hasSuffix("\r\n\r\n4\r\nbody\r\n" + end), "\(response)")
            #expect(response.contains("\r\nTrailer: X-Sum\r\n") == takes)
            let request = try #require(proxy.api.requests.first)
            #expect(request.values("TE") == (takes ? ["trailers"] : []))
            #expect(request.values("Connection") == (takes ? ["TE"] : []))
        }
    }

    @Test func `a connection has several requests`() async throws {
        try await ProxyFixture.run { proxy in
            let client = try RawClient(proxy.path)
            for _ in 0..<2 {
                try client.send("POST /v1/items HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody")
                #expect(try await client.read(until: "done").status == 200)
            }
            try client.send("HEAD /v1/items HTTP/1.0\r\nHost: localhost\r\n\r\n")
            let last = try await client.readAll()
            #expect(last.status == 200)
            #expect(last.hasSuffix("\r\n\r\n"))
        }
    }

    /// libcurl makes a PUT of each request with a body.
    @Test(arguments: [
        "Content-Length: 0\r\n\r\n", "Content-Length: 4\r\n\r\nbody",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n",
    ])
    func `a HEAD stays one, without its content`(rest: String) async throws {
        try await ProxyFixture.run { proxy in
            let client = try RawClient(proxy.path)
            try client.send("HEAD /v1/items HTTP/1.1\r\nHost: localhost\r\n\(rest)")
            try client.send("GET /v1/items HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            let responses = try await client.readAll()
            #expect(responses.components(separatedBy: "HTTP/1.1 200").count == 3, "\(responses)")
            #expect(proxy.api.requests.map { $0.line.prefix { $0 != "/" } } == ["HEAD ", "GET "])
            #expect(proxy.api.requests.allSatisfy { $0.body.isEmpty && $0.values("Transfer-Encoding").isEmpty })
        }
    }
}
