import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// The limits of time and size hold for every server.
@Suite(.timeLimit(.minutes(1)))
struct CurlLimitTests {
    let transport = CurlTransport(.init(proxy: .none))

    @Test func `a dripping response ends when the time is over`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while !connection.hasEnded(within: 50) { try connection.send("x") }
        }
        let error = await authError { try await transport.send(server.get(limits: .with(total: .milliseconds(400)))) }
        #expect(error?.code == .timeout)
        #expect(error?.outcome == .perhapsProcessed)
        #expect(error?.isTemporary == true)
        #expect(error?.message == "no complete response from 127.0.0.1 within 400 ms")
    }

    @Test(arguments: [(Duration.seconds(30), true), (.milliseconds(100), false)])
    func `a transport may wait longer than a request asks for, and not less`(patience: Duration, isLonger: Bool)
        async throws
    {
        let server = try RawServer { connection in
            try connection.readRequest()
            // The limit of the request passes, and nothing else happens.
            if !connection.hasEnded(within: 900) { try connection.reply(body: "late") }
        }
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.patience = patience
        let request = server.get(limits: .with(total: .milliseconds(300)))
        let transport = CurlTransport(configuration)
        if isLonger {
            #expect(try await transport.send(request).body == Array("late".utf8))
        } else {
            let error = await authError { try await transport.send(request) }
            #expect(error?.message == "no complete response from 127.0.0.1 within 300 ms")
        }
    }

    @Test func `a server that never responds ends the wait as perhaps processed`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            connection.waitForEnd()
        }
        let error = await authError { try await transport.send(server.post(limits: .with(total: .milliseconds(300)))) }
        #expect(error?.code == .timeout)
        #expect(error?.outcome == .perhapsProcessed)
    }

    @Test(arguments: [true, false])
    func `a process that was stopped finds the response that came meanwhile`(getsResponse: Bool) async throws {
        let (arrived, answered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let server = try RawServer { connection in
            try connection.readRequest()
            arrived.signal()
            guard getsResponse else { return connection.waitForEnd() }
            answered.wait()
            // More than is read at once.
            try connection.reply(body: String(repeating: "x", count: 200_000))
            connection.waitForEnd()
        }
        let program = try ListenerProcess(arguments: ["get", "http://\(server.authority)/", "3000"])
        try await onThread { arrived.wait() }
        program.send(SIGSTOP)
        answered.signal()
        // Nothing but time makes a limit pass.
        try await Task.sleep(for: .milliseconds(3200))
        program.send(SIGCONT)
        #expect(try await onThread { try program.line() } == (getsResponse ? "200 200000" : "timeout"))
    }

    @Test func `a TLS handshake that does not come about ends the wait as not sent`() async throws {
        let server = try RawServer { $0.waitForEnd() }
        var request = server.post(limits: .with(connect: .milliseconds(300)))
        request.head.scheme = "https"
        let error = await authError { try await transport.send(request) }
        #expect(error?.code == .timeout)
        #expect(error?.outcome == .notSent)
        #expect(error?.message == "no connection to \(server.authority) within 300 ms")
    }

    @Test(arguments: [999, 1000, 1001])
    func `a body is taken up to the limit`(length: Int) async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply(body: String(repeating: "x", count: length))
        }
        let request = server.get(limits: .with(body: 1000))
        if length <= 1000 {
            #expect(try await transport.send(request).body.count == length)
        } else {
            expectTooLarge(await authError { try await transport.send(request) }, 1000)
        }
    }

    @Test func `an announced length over the limit is refused before the body comes`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
            connection.waitForEnd()
        }
        expectTooLarge(await authError { try await transport.send(server.get()) }, 1 << 20)
    }

    @Test(arguments: ["Transfer-Encoding: chunked", "Connection: close"])
    func `an endless body is cut off at the limit`(framing: String) async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            let chunk = String(repeating: "x", count: 0x8000)
            while true { try connection.send(framing.contains("chunked") ? "8000\r\n\(chunk)\r\n" : chunk) }
        }
        expectTooLarge(await authError { try await transport.send(server.get()) }, 1 << 20)
    }

    @Test func `a small response that decompresses to 100 MB is cut off at the limit`() async throws {
        let bomb = try gzip(Data(count: 100_000_000))
        #expect(bomb.count < 200_000)
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
            try connection.send(bomb)
        }
        expectTooLarge(await authError { try await transport.send(server.get()) }, 1 << 20)
    }

    @Test(arguments: [60, 70])
    func `a header is taken up to the limit`(kilobytes: Int) async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.reply(
                "200 OK", Array(repeating: "X: " + String(repeating: "x", count: 1000), count: kilobytes))
        }
        if kilobytes < 64 {
            #expect(try await transport.send(server.get()).headerFields.count == kilobytes + 1)
        } else {
            expectLongHeader(await authError { try await transport.send(server.get()) })
        }
    }

    @Test func `fifty megabytes of header end at the limit`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n")
            let line = "X: " + String(repeating: "x", count: 1000) + "\r\n"
            for _ in 0..<50_000 { try connection.send(line) }
        }
        expectLongHeader(await authError { try await transport.send(server.get()) })
    }

    @Test func `interim responses and trailers count as header`() async throws {
        let server = try RawServer { connection in
            let request = try connection.readRequest()
            if request.line.contains("interim") {
                while true { try connection.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n") }
            }
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
            while true { try connection.send("X-Trailer: abc\r\n") }
        }
        expectLongHeader(await authError { try await transport.send(server.get("/interim")) })
        expectLongHeader(await authError { try await transport.send(server.get("/trailer")) })
    }

    @Test func `a header line without end is refused`() async throws {
        let server = try RawServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX: ")
            let part = String(repeating: "x", count: 10_000)
            while true { try connection.send(part) }
        }
        let error = await authError { try await transport.send(server.get()) }
        #expect(error?.code == .invalidResponse)
        #expect(error?.outcome == .perhapsProcessed)
    }

    private func expectTooLarge(_ error: AuthError?, _ limit: Int, _ location: SourceLocation = #_sourceLocation) {
        #expect(error?.code == .invalidResponse, sourceLocation: location)
        #expect(error?.outcome == .perhapsProcessed, sourceLocation: location)
        let expected = "the response from 127.0.0.1 is larger than \(limit) bytes"
        #expect(error?.message == expected, sourceLocation: location)
    }

    private func expectLongHeader(_ error: AuthError?, _ location: SourceLocation = #_sourceLocation) {
        #expect(error?.code == .invalidResponse, sourceLocation: location)
        #expect(error?.outcome == .perhapsProcessed, sourceLocation: location)
        let expected = "the header of the response from 127.0.0.1 is larger than 65536 bytes"
        #expect(error?.message == expected, sourceLocation: location)
    }
}
