import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// The bytes on the wire, and the responses.
@Suite(.timeLimit(.minutes(1)))
struct CurlTransportTests {
    let transport = CurlTransport(.init(proxy: .none))

    @Test func `a response has its status, its fields and its body`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("404 Whatever", ["X-One: 1"], body: "not here")
        }
        let response = try await transport.send(server.get("/a?b=c"))
        #expect(response.status.code == 404)
        #expect(response.headerFields[try name("X-One")] == "1")
        #expect(response.text == "not here")
        #expect(server.requests.first?.line == "GET /a?b=c HTTP/1.1")
    }

    @Test func `a request goes out as it is, with nothing added but the name of the library`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply()
        }
        var request = server.request(.post, "/a/../b/%2e?x=%20")
        request.headerFields[.authorization] = "Bearer abc"
        request.headerFields.append(HTTPField(name: try name("X-Twice"), value: "1"))
        request.headerFields.append(HTTPField(name: try name("X-Twice"), value: "2"))
        request.headerFields[try name("X-Empty")] = ""
        // libcurl asks before it sends a body of this size, and names a content type, unless it is configured not to.
        let body = [UInt8](repeating: 0, count: 1_500_000)
        _ = try await transport.send(TransportRequest(request, body: body))

        let received = try #require(server.requests.first)
        #expect(received.line == "POST /a/../b/%2e?x=%20 HTTP/1.1")
        #expect(received.values("Host") == [server.authority])
        #expect(received.values("Authorization") == ["Bearer abc"])
        #expect(received.values("X-Twice") == ["1", "2"])
        #expect(received.values("X-Empty") == [""])
        #expect(received.values("Content-Length") == ["1500000"])
        #expect(received.values("User-Agent") == ["swift-appauth"])
        for absent in ["Expect", "Content-Type", "Cookie"] { #expect(received.values(absent).isEmpty) }
        #expect(received.body == body)
    }

    @Test func `the user agent is the configured one unless the request has its own`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply()
            }
        }
        let transport = CurlTransport(.init(userAgent: "app/1", proxy: .none))
        _ = try await transport.send(server.get())
        var own = server.get()
        own.head.headerFields[.userAgent] = "other/2"
        _ = try await transport.send(own)
        _ = try await CurlTransport(.init(userAgent: nil, proxy: .none)).send(server.get())
        #expect(server.requests.map { $0.values("User-Agent") } == [["app/1"], ["other/2"], []])
    }

    @Test(arguments: [HTTPRequest.Method.put, .patch, .delete, .post, .get])
    func `every method sends its body`(method: HTTPRequest.Method) async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply()
        }
        _ = try await transport.send(TransportRequest(server.request(method), body: Array("a\0b".utf8)))
        #expect(server.requests.map(\.line) == ["\(method.rawValue) / HTTP/1.1"])
        #expect(server.requests.map(\.body) == [Array("a\0b".utf8)])
    }

    @Test(arguments: [(HTTPRequest.Method.post, ["0"]), (.put, ["0"]), (.get, []), (.delete, [])])
    func `a method with a body sends its length, even zero`(method: HTTPRequest.Method, length: [String]) async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply()
        }
        _ = try await transport.send(TransportRequest(server.request(method)))
        #expect(server.requests.map { $0.values("Content-Length") } == [length])
    }

    @Test func `a response to HEAD has no body, even if it announces a length`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5000000000\r\nContent-Encoding: gzip\r\n\r\n")
            }
        }
        for _ in 0..<2 {
            let response = try await transport.send(TransportRequest(server.request(.head)))
            #expect(response.headerFields[.contentLength] == "5000000000")
            #expect(response.body.isEmpty)
        }
        #expect(server.connectionCount == 1)
    }

    @Test func `a redirect is a response and is not followed`() async throws {
        let other = try RawServer { try $0.reply() }
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply("302 Found", ["Location: http://\(other.authority)/"], body: "moved")
        }
        let response = try await transport.send(server.get())
        #expect(response.status.code == 302)
        #expect(response.headerFields[.location] == "http://\(other.authority)/")
        #expect(response.text == "moved")
        #expect(other.connectionCount == 0)
    }

    @Test func `cookies come apart and do not go back`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply("200 OK", ["Set-Cookie: a=1; Path=/", "X-Between: x", "Set-Cookie: b=2"])
            }
        }
        let response = try await transport.send(server.get())
        _ = try await transport.send(server.get())
        #expect(response.headerFields[values: .setCookie] == ["a=1; Path=/", "b=2"])
        #expect(server.requests.map { $0.values("Cookie") } == [[], []])
    }

    @Test func `interim responses are read over and trailers dropped`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
            try connection.send("HTTP/1.1 200 OK\r\nX-Final: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
            try connection.send("3\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Trailer: 1\r\n\r\n")
        }
        let response = try await transport.send(server.get())
        #expect(response.status.code == 200)
        #expect(response.headerFields.map(\.name.canonicalName) == ["x-final", "transfer-encoding"])
        #expect(response.text == "abcdefg")
    }

    @Test func `bytes that no field value may have become spaces`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-Odd: a\u{1}b\r\nX-Latin: ")
            try connection.send([0xe9])
            try connection.send("\r\nbad name: 1\r\nX-Folded: a\r\n  b\r\nContent-Length: 0\r\n\r\n")
        }
        let fields = try await transport.send(server.get()).headerFields
        #expect(fields.map(\.name.rawName) == ["X-Odd", "X-Latin", "X-Folded", "Content-Length"])
        #expect(fields[try name("X-Odd")] == "a b")
        #expect(fields[try name("X-Folded")]?.split(separator: " ") == ["a", "b"])
        let latin = try #require(fields.first { $0.name.rawName == "X-Latin" })
        #expect(latin.withUnsafeBytesOfValue { Array($0) } == [0xe9])
    }

    @Test func `a compressed body is decoded and not described as compressed`() async throws {
        let compressed = try gzip(Data("hello".utf8))
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(compressed.count)\r\n\r\n")
            try connection.send(compressed)
        }
        let response = try await transport.send(server.get())
        #expect(response.text == "hello")
        #expect(response.headerFields[.contentEncoding] == nil)
        #expect(response.headerFields[.contentLength] == nil)
        #expect(server.requests.first?.values("Accept-Encoding").first?.contains("gzip") == true)
    }

    @Test func `an IPv6 address in brackets is a host`() async throws {
        let server = try RawServer(host: "::1") { connection in
            try connection.readRequest()
            try connection.reply(body: "six")
        }
        #expect(try await transport.send(server.get()).text == "six")
        #expect(server.requests.first?.values("Host") == [server.authority])
    }

    @Test func `a connection is used again`() async throws {
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply()
            }
        }
        for _ in 0..<5 { _ = try await transport.send(server.get()) }
        _ = try await transport.send(server.post())
        _ = try await transport.send(server.get())
        // The POST has one of its own.
        #expect(server.requests.map(\.connection).prefix(6) == [0, 0, 0, 0, 0, 1])
        #expect(server.connectionCount == 2)
    }

    @Test func `two hundred requests at once each get their own response`() async throws {
        let server = try RawServer { connection in
            while true {
                let path = try connection.readRequest().line.split(separator: " ")[1]
                try connection.reply(body: String(path))
            }
        }
        let right = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask { try await transport.send(server.get("/\(number)")).text == "/\(number)" }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(right == 200)
    }

    private func name(_ text: String) throws -> HTTPField.Name { try #require(HTTPField.Name(text)) }
}
