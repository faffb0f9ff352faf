#if canImport(Glibc)
    internal import Glibc
#endif
internal import AppAuthConcurrency
internal import HTTPTypes
internal import JOSE
internal import NIOCore
internal import NIOHTTP1

/// One connection. It reads a request, gets its response, delivers it, and continues while both sides keep the
/// connection open.
struct Connection: Sendable {
    typealias Channel = NIOAsyncChannel<HTTPServerRequestPart, ByteBuffer>
    typealias Writer = NIOAsyncChannelOutboundWriter<ByteBuffer>

    /// A connection that is not served yet.
    struct Accepted: Sendable {
        let channel: Channel
        /// The client's certificate after the TLS handshake; nil for plain HTTP.
        let certificate: LockedValue<[UInt8]?>?
    }

    let accepted: Accepted
    private var channel: Channel { accepted.channel }
    let limits: Limits
    let respond: @Sendable (Request) async throws -> (Reply, Delivery)

    func serve() async {
        // The client or a requested fault has ended the connection early: there is no one to report it to.
        try? await channel.executeThenClose { inbound, outbound in
            var parts = inbound.makeAsyncIterator()
            let reader = RequestReader(limits: limits)
            do {
                while let incoming = try await beforeDeadline({
                    try await reader.next(&parts) { try await write("HTTP/1.1 100 Continue\r\n\r\n".utf8, outbound) }
                }) {
                    var request = incoming.request
                    request.certificate = accepted.certificate?.withLock { $0 }
                    let (reply, delivery) = try await respond(request)
                    let bytes = reply.wireBytes(for: request.method, keepAlive: incoming.keepAlive)
                    guard try await deliver(reply, bytes, delivery, outbound), incoming.keepAlive else { return }
                }
            } catch let refusal as RequestReader.Refusal {
                try await write(refusal.reply.wireBytes(for: .get, keepAlive: false), outbound)
                await drain(&parts)
            }
        }
    }

    /// Delivers the response. Returns whether the connection can continue.
    private func deliver(_ reply: Reply, _ bytes: [UInt8], _ delivery: Delivery, _ outbound: Writer) async throws
        -> Bool
    {
        switch delivery {
        case .whole:
            try await write(bytes, outbound)
            return true
        case .twice:
            try await write(bytes + bytes, outbound)
            return true
        case .drip(let pause):
            for byte in bytes {
                try await write([byte], outbound)
                try await Task.sleep(for: pause)
            }
            return true
        case .cutOff(let count):
            try await write(bytes.prefix(count), outbound)
        case .reset(let count):
            try await write(bytes.prefix(count), outbound)
            try await reset()
        case .endless:
            try await write(reply.endlessHead + reply.body, outbound)
            let filler = [UInt8](repeating: UInt8(ascii: " "), count: 16 << 10)
            while true { try await write(filler, outbound) }
        }
        return false
    }

    private func write(_ bytes: some Sequence<UInt8> & Sendable, _ outbound: Writer) async throws {
        var buffer = ByteBuffer()
        buffer.writeBytes(bytes)
        guard buffer.readableBytes > 0 else { return }
        try await outbound.write(buffer)
    }

    /// Resets the connection: a lingering time of zero makes the kernel send RST on close.
    private func reset() async throws {
        try await (channel.channel as? any SocketOptionProvider)?
            .setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        try await channel.channel.close()
    }

    /// Closes the connection if the body takes longer than a request may.
    private func beforeDeadline<Result>(_ body: () async throws -> Result) async throws -> Result {
        let channel = channel.channel
        let deadline = channel.eventLoop.scheduleTask(in: TimeAmount(limits.requestTime)) {
            channel.close(promise: nil)
        }
        defer { deadline.cancel() }
        return try await body()
    }

    /// Reads for at most a second: closing a socket with unread input sends a reset, and the client would lose the
    /// response.
    private func drain(_ parts: inout RequestReader.Parts) async {
        let channel = channel.channel
        let deadline = channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
        defer { deadline.cancel() }
        while (try? await parts.next()) != nil {}
    }
}
