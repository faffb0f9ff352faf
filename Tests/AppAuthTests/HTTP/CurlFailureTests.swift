import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// The error if there is no response, and whether the server may have acted on the request.
@Suite(.timeLimit(.minutes(1)))
struct CurlFailureTests {
    let transport = CurlTransport(.init(proxy: .none))

    @Test func `a refused connection is temporary and not sent`() async throws {
        let port = try RawServer.closedPort()
        let request = HTTPRequest(method: .post, scheme: "http", authority: "127.0.0.1:\(port)", path: "/")
        let error = await authError { try await transport.send(TransportRequest(request)) }
        #expect(error?.code == .transport)
        #expect(error?.outcome == .notSent)
        #expect(error?.isTemporary == true)
        #expect(error?.message == "connection to 127.0.0.1:\(port) refused: no program listens at that port")
    }

    @Test func `a host that does not exist is temporary and not sent`() async throws {
        // A label of 64 characters is refused before any server is asked (RFC 1035 §2.3.4).
        let host = String(repeating: "a", count: 64) + ".example"
        let request = HTTPRequest(method: .post, scheme: "https", authority: host, path: "/")
        let error = await authError { try await transport.send(TransportRequest(request)) }
        #expect(error?.code == .transport)
        #expect(error?.outcome == .notSent)
        #expect(error?.isTemporary == true)
        #expect(error?.message == "could not resolve host '\(host)'")
    }

    /// A server's reaction to the request, and the end of the resulting message.
    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var code: AuthError.Code
        var message: String
        var script: RawServer.Script
    }

    static let faults = [
        Fault(
            testDescription: "closes", code: .transport, message: "127.0.0.1 closed the connection without a response"
        ) {
            try $0.readRequest()
        },
        Fault(
            testDescription: "resets", code: .transport,
            message: "the connection to 127.0.0.1 broke: Recv failure: Connection reset by peer"
        ) {
            try $0.readRequest()
            $0.reset()
        },
        Fault(testDescription: "cuts the body", code: .transport, message: "the response from 127.0.0.1 was cut short")
        {
            try $0.readRequest()
            try $0.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
        },
        Fault(
            testDescription: "cuts a chunk", code: .transport, message: "the response from 127.0.0.1 was cut short"
        ) {
            try $0.readRequest()
            try $0.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nabc")
        },
        Fault(
            testDescription: "cuts the header", code: .transport, message: "the response from 127.0.0.1 was cut short"
        ) {
            try $0.readRequest()
            try $0.send("HTTP/1.1 200 OK\r\nContent-Le")
        },
        Fault(
            testDescription: "sends a field without a colon", code: .invalidResponse,
            message: "is not valid HTTP: Header without colon"
        ) {
            try $0.readRequest()
            try $0.send("HTTP/1.1 200 OK\r\nno field\r\n\r\n")
        },
        Fault(
            testDescription: "speaks another protocol", code: .invalidResponse,
            message: " is not HTTP. The server may speak https"
        ) {
            try $0.readRequest()
            try $0.send("SSH-2.0-server\r\nabc\r\n\r\n")
        },
        Fault(
            testDescription: "says gzip and sends something else", code: .invalidResponse,
            message: "the response from 127.0.0.1 has a content encoding that could not be decoded"
        ) {
            try $0.readRequest()
            try $0.reply("200 OK", ["Content-Encoding: gzip"], body: "this is no gzip")
        },
        Fault(
            testDescription: "names an unknown encoding", code: .invalidResponse,
            message: "the response from 127.0.0.1 has a content encoding that could not be decoded"
        ) {
            try $0.readRequest()
            try $0.reply("200 OK", ["Content-Encoding: rot13"], body: "uryyb")
        },
    ]

    @Test(arguments: faults)
    func `a broken response is perhaps processed`(fault: Fault) async throws {
        let server = try RawServer(fault.script)
        let error = await authError { try await transport.send(server.post("/secret-path?code=secret-code")) }
        #expect(error?.code == fault.code)
        #expect(error?.outcome == .perhapsProcessed)
        #expect(error?.isTemporary == (fault.code == .transport))
        #expect(error?.message.hasSuffix(fault.message) == true)
        #expect(server.requests.count == 1)
    }

    /// Older versions of libcurl would add the field to the last one of the former response, in memory that they have freed.
    @Test func `a response that begins with a folded field writes into no other`() async throws {
        let server = try RawServer { connection in
            while true {
                let isFirst = try connection.readRequest().line.hasPrefix("GET /first")
                let field = isFirst ? "X-First: 1" : " Set-Cookie: \(String(repeating: "B", count: 2000))"
                try connection.send("HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\n\r\n{}")
            }
        }
        for _ in 0..<20 {
            _ = try await transport.send(server.get("/first"))
            // Whether it is an error depends on the version.
            _ = try? await transport.send(server.get("/second"))
        }
        #expect(try await transport.send(server.get("/first")).status == .ok)
    }

    @Test func `a POST after a kept connection is sent once when the server resets`() async throws {
        let server = try RawServer { connection in
            while try connection.readRequest().line.hasPrefix("GET") { try connection.reply() }
            connection.reset()
        }
        _ = try await transport.send(server.get())
        let error = await authError { try await transport.send(server.post()) }
        #expect(error?.code == .transport)
        #expect(error?.outcome == .perhapsProcessed)
        #expect(server.requests.map(\.line).filter { $0.hasPrefix("POST") }.count == 1)
    }

    @Test func `a GET on a kept connection that turns out dead is sent again`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply(body: "\(connection.number)")
            if connection.number == 0 {
                try connection.readRequest()
                connection.reset()
            }
        }
        #expect(try await transport.send(server.get()).text == "0")
        #expect(try await transport.send(server.get()).text == "1")
        #expect(server.requests.map(\.connection) == [0, 0, 1])
    }

    // RFC 7592 §2.2: the server may have issued another token in place of this request's.
    @Test(arguments: [HTTPRequest.Method.get, .put])
    func `a request that uses up its token is sent once, others again`(method: HTTPRequest.Method) async throws {
        for usesUpItsToken in [true, false] {
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.reply()
                if connection.number == 0 {
                    try connection.readRequest()
                    connection.reset()
                }
            }
            var request = server.get()
            request.head.method = method
            request.usesUpItsToken = usesUpItsToken
            _ = try await transport.send(server.get())
            _ = try await transport.send(request)
            #expect(server.requests.map(\.connection) == (usesUpItsToken ? [0, 1] : [0, 0, 1]))
        }
    }

    @Test(arguments: [
        ("ftp", "example.com", "/"), ("", "example.com", "/"), ("https", "", "/"),
        ("https", "user:secret@example.com", "/"),
        ("https", "example.com:99999", "/"), ("https", "example.com:x", "/"), ("https", "exa mple.com", "/"),
        ("https", "example.com/secret", "/"), ("https", "::1", "/"), ("https", "example.com", "secret"),
        ("https", "example.com", "/secret secret"), ("https", "example.com", "/#secret"),
    ])
    func `a URL that is not http is refused and not shown`(scheme: String, authority: String, path: String) async {
        let request = HTTPRequest(method: .get, scheme: scheme, authority: authority, path: path)
        let error = await authError { try await transport.send(TransportRequest(request)) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.outcome == .notSent)
        #expect(error?.message.contains("secret") == false)
    }

    @Test(arguments: ["libappauth-missing.so.1", "libc.so.6"])
    func `a missing libcurl is named with its package`(library: String) async throws {
        let server = try RawServer { try $0.reply() }
        let transport = CurlTransport(.init(proxy: .none), libraryNames: [library]) { _ in nil }
        let error = await authError { try await transport.send(server.get()) }
        #expect(error?.code == .unavailable)
        #expect(error?.outcome == .notSent)
        #expect(error?.message.hasPrefix("libcurl could not be opened (") == true)
        #expect(error?.message.contains("libcurl4 (Debian 12") == true)
        #expect(error?.message.contains("libcurl4t64 (Debian 13") == true)
        #expect(server.connectionCount == 0)
    }
}
