internal import FoundationEssentials
internal import NIOCore
internal import NIOPosix

/// A form that the provider posts to a client on this machine.
struct OutgoingPost: Sendable {
    private let host: String
    private let port: Int
    private let request: String

    private static let patience = TimeAmount.seconds(5)

    /// Creates a post; nil unless the URL is http on loopback: no request leaves the machine.
    init?(_ url: String, form: String) {
        guard let parts = URLComponents(string: url), parts.scheme == "http", let name = parts.host,
            ["127.0.0.1", "::1", "[::1]", "localhost"].contains(name)
        else { return nil }
        host = name == "localhost" ? "127.0.0.1" : name.filter { $0 != "[" && $0 != "]" }
        port = parts.port ?? 80
        let target = (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
        let query = parts.percentEncodedQuery.map { "?\($0)" } ?? ""
        let authority = (host.contains(":") ? "[\(host)]" : name) + ":\(port)"
        request =
            "POST \(target)\(query) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n"
            + "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n\r\n\(form)"
    }

    /// Sends the form once, and ignores the response and any error.
    func send() async {
        do {
            let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .connectTimeout(Self.patience)
                .connect(host: host, port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let open = channel.channel
            let end = open.eventLoop.scheduleTask(in: Self.patience) { open.close(promise: nil) }
            defer { end.cancel() }
            try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: request))
                for try await _ in inbound {}
            }
        } catch {}
    }
}
