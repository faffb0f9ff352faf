import AppAuth
import AppAuthProtocol
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// Cancellation, and the thread behind a transport.
@Suite(.timeLimit(.minutes(1)))
struct CurlLifecycleTests {
    @Test func `cancelling the task closes the connection`() async throws {
        let transport = CurlTransport(.init(proxy: .none))
        let (closed, close) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            try connection.readRequest()
            connection.waitForEnd()
            close.yield()
        }
        let task = Task { try await transport.send(server.get()) }
        try await waitUntil { !server.requests.isEmpty }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await _ in closed { break }
    }

    @Test func `cancelling ends a transfer that is still connecting`() async throws {
        let transport = CurlTransport(.init(proxy: .none))
        let (connected, connect) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            connect.yield()
            connection.waitForEnd()
        }
        var request = server.get()
        request.head.scheme = "https"
        // A thousand other tests may begin before this one continues.
        (request.limits.connect, request.limits.total) = (.seconds(120), .seconds(120))
        let task = Task { [request] in try await transport.send(request) }
        for await _ in connected { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a task that is cancelled already sends nothing`() async throws {
        let transport = CurlTransport(.init(proxy: .none))
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply()
            }
        }
        _ = try await transport.send(server.get("/first"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(server.get("/never"))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        _ = try await transport.send(server.get("/last"))
        #expect(server.requests.map(\.line) == ["GET /first HTTP/1.1", "GET /last HTTP/1.1"])
    }

    @Test func `cancelling at any moment ends each request once`() async throws {
        let transport = CurlTransport(.init(proxy: .none))
        let server = try RawServer { connection in
            while true {
                try connection.readRequest()
                try connection.reply()
            }
        }
        let ended = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let task = Task { try await transport.send(server.get()).status.code }
                    for _ in 0..<(number % 20) { await Task.yield() }
                    task.cancel()
                    switch await task.result {
                    case .success(let code): return code == 200
                    case .failure(let error): return error is CancellationError
                    }
                }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(ended == 200)
    }

    @Test func `the thread ends when the transport is released`() async {
        await #expect(processExitsWith: .success) {
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.reply()
            }
            var transport: CurlTransport? = CurlTransport(.init(proxy: .none))
            try #require(httpThreadCount() == 0)
            _ = try await transport?.send(server.get())
            try #require(httpThreadCount() == 1)
            _ = try await transport?.send(server.get())
            try #require(httpThreadCount() == 1)
            transport = nil
            let deadline = ContinuousClock.now + .seconds(10)
            while httpThreadCount() > 0 {
                try #require(ContinuousClock.now < deadline)
                await Task.yield()
            }
        }
    }

    @Test func `a transport without a reference serves its request and ends`() async {
        await #expect(processExitsWith: .success) {
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.reply(body: "done")
            }
            let response = try await CurlTransport(.init(proxy: .none)).send(server.get())
            try #require(response.text == "done")
            let deadline = ContinuousClock.now + .seconds(10)
            while httpThreadCount() > 0 {
                try #require(ContinuousClock.now < deadline)
                await Task.yield()
            }
        }
    }

    @Test func `a process exits even while its transports are busy`() async {
        await #expect(processExitsWith: .exitCode(7)) {
            let transport = CurlTransport(.init(proxy: .none))
            let server = try RawServer { connection in
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while true { try connection.send("1\r\nx\r\n") }
            }
            let limits = HTTPLimits.with(body: .max)
            let transfers = (0..<4).map { _ in Task { try await transport.send(server.get(limits: limits)) } }
            try await waitUntil { !server.requests.isEmpty }
            _ = transfers
            exit(7)
        }
    }
}

/// How many threads of transports the process has.
private func httpThreadCount() -> Int {
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return threads.count { thread in
        (try? String(contentsOfFile: "/proc/self/task/\(thread)/comm", encoding: .utf8)) == "appauth-http\n"
    }
}
