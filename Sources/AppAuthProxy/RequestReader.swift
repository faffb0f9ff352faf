internal import AppAuth
internal import AppAuthConcurrency

/// Reads the requests of a connection, one after another. Only one task uses it at a time.
final class RequestReader: @unchecked Sendable {
    private let socket: ClientSocket
    private var unread: ArraySlice<UInt8> = []
    /// Whether all of the last request was read.
    private(set) var isBetweenRequests = true

    init(_ socket: ClientSocket) { self.socket = socket }

    /// Returns the head of the next request; nil if the client has closed the connection.
    func head() async throws -> RequestHead? {
        var reader = RequestHeadReader(limit: Self.headBytes)
        let deadline = ContinuousClock.now + Self.headTime
        while true {
            if let head = try reader.read(&unread) {
                isBetweenRequests = false
                return head
            }
            unread = try await socket.receive(until: deadline)[...]
            guard unread.isEmpty else { continue }
            guard reader.isEmpty else { throw RequestHead.Refusal.badRequest }
            return nil
        }
    }

    /// Copies the body of the request as fast as it is taken.
    func copyBody(_ framing: BodyFraming, to body: BytePipe?) async throws {
        switch framing {
        case .noBody: break
        case .length(var rest):
            while rest > 0 {
                let bytes = try await receive().prefix(rest)
                unread = unread.dropFirst(bytes.count)
                rest -= bytes.count
                try await body?.write(bytes)
            }
        case .chunked:
            var chunks = ChunkedBody()
            while !chunks.isOver {
                unread = try await receive()
                let bytes = try chunks.decode(&unread)
                if !bytes.isEmpty { try await body?.write(bytes) }
            }
        }
        isBetweenRequests = true
        body?.finish()
    }

    /// Returns the next bytes that are no longer HTTP; nil if the client has ended its side.
    func bytes() async throws -> ArraySlice<UInt8>? {
        if unread.isEmpty { unread = try await socket.receive()[...] }
        defer { unread = [] }
        return unread.isEmpty ? nil : unread
    }

    /// Returns unread bytes, at least one.
    private func receive() async throws -> ArraySlice<UInt8> {
        if unread.isEmpty { unread = try await socket.receive()[...] }
        guard !unread.isEmpty else { throw ClientSocket.Gone() }
        return unread
    }

    /// The largest head, as other servers have it.
    private static let headBytes = 64 << 10
    /// The time between two requests, with the head of the second.
    private static let headTime = Duration.seconds(75)
}
