internal import AppAuthConcurrency
internal import AppAuthProtocol

/// The response to one request of a client, which is sent once. Two tasks use it: one for the request's body, and one for the
/// server's response.
struct ClientResponse: Sendable {
    private let socket: ClientSocket
    private let hasBegun = LockedValue(false)

    init(on socket: ClientSocket) { self.socket = socket }

    /// Asks the client for the body of its request (RFC 9110 §15.2.1), unless the response has begun.
    func sendContinue() throws {
        try hasBegun.withLock { hasBegun in
            guard !hasBegun else { return }
            let line = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            // There is room, as nothing else has been sent.
            guard try socket.sendNow(line[...]) == line.count else { throw ClientSocket.Gone() }
        }
    }

    /// Sends the server's response. Throws if the server ends it too early: the client sees that by the end of the connection.
    func send(_ head: ResponseHead, _ stream: ResponseStream?) async throws {
        try begin()
        try await socket.send(head.bytes)
        guard head.framing != .none else { return }
        while let bytes = try await stream?.body.read() {
            try await socket.send(head.framing == .chunked ? Self.chunk(bytes) : bytes)
        }
        guard head.framing == .chunked else { return }
        let trailers = stream?.trailers.withLock { $0 }
        try await socket.send(Array("0\r\n\(trailers.map(head.trailers) ?? "")\r\n".utf8))
    }

    /// Sends a response of the proxy's own.
    func send(_ bytes: [UInt8]) async throws {
        try begin()
        try await socket.send(bytes)
    }

    /// Throws if the response has begun. It cannot be replaced then.
    private func begin() throws {
        try hasBegun.withLock { hasBegun in
            guard !hasBegun else { throw ClientSocket.Gone() }
            hasBegun = true
        }
    }

    /// RFC 9112 §7.1.
    private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + [0x0D, 0x0A]
    }
}
