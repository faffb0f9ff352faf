import AppAuth
import Glibc
import Testing

/// Crowds of hostile clients, in a process of its own, whose memory and threads are those of one listener.
@Suite(.timeLimit(.minutes(10)))
struct CrowdTests {
    @Test func `a hundred thousand wrong requests change nothing but a counter`() async {
        await #expect(processExitsWith: .success) {
            // Patient, since a client that waits for the processor is no slow client.
            let listener = try LoopbackRedirectListener.patient(responseMode: .formPost)
            let waiting = Task { try await listener.redirect(state: "right") }
            let memory = try await onThread { try Crowd(listener).knock(1_000) }
            let (uri, sockets) = (listener.redirectURI, try ListeningSockets(at: listener.port))
            let descriptors = ProcessStatus.listenerDescriptors

            let growth = try await onThread { try Crowd(listener).knock(99_000) } - memory

            try #require(listener.ignoredRequests == 100_000, "\(listener.ignoredRequests)")
            try #require(listener.redirectURI == uri)
            try #require(try ListeningSockets(at: listener.port) == sockets)
            try #require(ProcessStatus.listenerThreads.count == 1, "threads")
            // The last few connections may not have been seen off yet.
            try #require(ProcessStatus.listenerDescriptors <= descriptors + 64, "descriptors")
            try #require(growth < 5 * 1024, "\(growth) KiB")
            try #require(try await listener.get("/callback?code=c&state=right").status == 303)
            try #require(try await waiting.value == "code=c&state=right")
        }
    }

    @Test func `neither heads of 20 MB nor a thousand slow connections take memory, threads or time`() async {
        await #expect(processExitsWith: .success) {
            try Crowd.raiseDescriptorLimit()
            let listener = try LoopbackRedirectListener(responseMode: .formPost)
            let waiting = Task { try await listener.redirect(state: "right") }
            let memory = try await onThread { try Crowd(listener).knock(1_000) }
            let (largest, slow) = try await onThread {
                let crowd = Crowd(listener)
                let largest = try ["GET /", "GET / HTTP/1.1\r\nX: "].map(crowd.sendTooMuch).max() ?? 0
                return (largest, try crowd.slowConnections(1000))
            }
            let start = ContinuousClock.now
            try #require(try await listener.get("/callback?code=c&state=right").status == 303)
            try #require(try await waiting.value == "code=c&state=right")
            // Long before the five seconds that a slow connection may take.
            try #require(ContinuousClock.now - start < .seconds(3), "late")
            try #require(ProcessStatus.listenerThreads.count == 1, "threads")
            let growth = max(largest, slow.memory) - memory
            try #require(growth < 5 * 1024, "\(growth) KiB")
            try #require(slow.clients.count == 1000)
        }
    }
}

/// Hostile clients of one listener.
private struct Crowd: Sendable {
    private let port: UInt16
    private let wrong: [(request: [UInt8], status: Int)]
    /// The same for what takes long to send.
    private let large: [(request: [UInt8], status: Int)]

    init(_ listener: LoopbackRedirectListener) {
        let (authority, form) = (listener.authority, "Content-Type: application/x-www-form-urlencoded")
        port = listener.port
        let longest = String(repeating: "x", count: 16 << 10)
        wrong = [
            (request("/callback?code=stolen&state=wrong", host: authority), 400),
            (request("/callback?error=access_denied&state=", host: authority), 400),
            (request("/callback?%zz=%&state=%72ight%", host: authority), 400),
            (
                request("/callback", host: authority, method: "POST", fields: [form, "Content-Length: 7"]) + "state=x",
                400
            ),
            (request("/callback", host: authority, method: "POST", fields: [form]), 411),
            (request("/callback", host: authority, method: "HEAD"), 405),
            (request("/callback", host: authority, method: "OPTIONS"), 405),
            (request("/callback?state=right", host: "evil.example"), 421),
            (request("/callback/?state=right", host: authority), 404),
            (request("/callback?state=right", host: authority, fields: ["Sec-Purpose: prefetch"]), 503),
            (request("/favicon.ico", host: authority), 404),
            (request("/callback/done/guess", host: authority), 404),
            ("GET /callback?state=right HTTP/1.1\nHost: \(authority)\n\n", 400),
            ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}", 400),
        ].map { (Array($0.0.utf8), $0.1) }
        large = [
            ("GET /\(longest)", 414), ("GET / HTTP/1.1\r\nHost: \(authority)\r\nX: \(longest)\r\n\r\n", 431),
            ("GET / HTTP/1.1\r\n" + String(repeating: "a:\r\n", count: 200), 431),
        ].map { (Array($0.0.utf8), $0.1) }
    }

    /// One wrong request after the other, each with its answer.
    ///
    /// - Returns: The most memory that the process had meanwhile.
    func knock(_ count: Int) throws -> Int {
        var knocker = Knocker(port)
        var memory = 0
        for number in 0..<count {
            let (request, status) = number % 64 == 0 ? large[number / 64 % 3] : wrong[number % wrong.count]
            let answer = try knocker.knock(request)
            try #require(answer == status, "request \(number): \(answer) in place of \(status)")
            if number % 500 == 0 { memory = max(memory, ProcessStatus.ownMemory) }
        }
        return max(memory, ProcessStatus.ownMemory)
    }

    /// 20 MB of a head that never ends. Returns the most memory.
    func sendTooMuch(_ start: String) throws -> Int {
        var knocker = Knocker(port)
        let client = try WireClient(port)
        client.send(start)
        let chunk = [UInt8](repeating: UInt8(ascii: "a"), count: 1 << 16)
        var memory = 0
        for _ in 0..<320 {
            guard client.send(chunk) else { break }
            memory = max(memory, ProcessStatus.ownMemory)
        }
        let status = try knocker.status(client)
        try #require(status == 414 || status == 431)
        return memory
    }

    /// Connections that send a head of many fields and a form, each a piece at a time, and never come to an end.
    func slowConnections(_ count: Int) throws -> (memory: Int, clients: [WireClient]) {
        var memory = 0
        let clients = try (0..<count).map { _ in try WireClient(port) }
        let fields = String(repeating: "a: b\r\n", count: 20)
        let head =
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: 16384\r\n"
            + "Content-Type: application/x-www-form-urlencoded\r\n"
        let pieces =
            [head, fields, fields, fields, fields, "\r\n"]
            + Array(repeating: String(repeating: "x", count: 1500), count: 10)
        for piece in pieces {
            let bytes = Array(piece.utf8)
            for client in clients { client.send(bytes) }
            memory = max(memory, ProcessStatus.ownMemory)
        }
        return (memory, clients)
    }

    static func raiseDescriptorLimit() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = min(limit.rlim_max, 8192)
        try #require(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    }
}
