internal import AppAuthConcurrency
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A listening socket on loopback, and its connections.
struct Server: Sendable {
    private let listener: NIOAsyncChannel<Connection.Accepted, Never>
    private let limits: Limits
    let port: Int

    /// Binds and listens. Connections are accepted after ``run(respond:)`` is called.
    ///
    /// - Parameter tls: The TLS context; nil for plain HTTP.
    /// - Throws: ``ProviderError`` if the host is not loopback or the port cannot be bound.
    static func listen(host: String, port: Int, limits: Limits, tls: TLSContext? = nil) async throws -> Server {
        guard let address = try? SocketAddress(ipAddress: host, port: port), address.isLoopback else {
            throw ProviderError("expected 127.0.0.1 or ::1 as the host, found '\(host)'")
        }
        do {
            let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .serverChannelOption(.backlog, value: 256)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(to: address) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let encryption = try tls.map(TLSHandler.init)
                        if let encryption { try channel.pipeline.syncOperations.addHandler(encryption) }
                        let limit = HeadLimit(maximum: limits.headBytes)
                        try channel.pipeline.syncOperations.addHandlers([
                            limit, ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
                            HeadLimit.Mark(limit),
                        ])
                        return Connection.Accepted(
                            channel: try Connection.Channel(wrappingChannelSynchronously: channel),
                            certificate: encryption?.certificate)
                    }
                }
            return Server(listener: listener, limits: limits, port: listener.channel.localAddress?.port ?? port)
        } catch {
            throw ProviderError("could not listen on \(host) port \(port): \(error)")
        }
    }

    /// Serves until ``close()`` is called, then closes every connection.
    func run(respond: @escaping @Sendable (Request) async throws -> (Reply, Delivery)) async {
        let open = LockedValue(0)
        try? await withThrowingDiscardingTaskGroup { group in
            try await listener.executeThenClose { connections in
                for try await accepted in connections {
                    group.addTask {
                        let isAllowed = open.withLock { open in
                            open += 1
                            return open <= limits.connections
                        }
                        defer { open.withLock { $0 -= 1 } }
                        guard isAllowed else { return await Connection.refuse(accepted.channel) }
                        await Connection(accepted: accepted, limits: limits, respond: respond).serve()
                    }
                }
            }
            group.cancelAll()
        }
    }

    /// Stops accepting connections and ends ``run(respond:)``.
    ///
    /// NIO traps if an accepted connection is never consumed. So this function first stops accepting, then waits for
    /// the connections that are moving between event loops, and then closes the socket. A connection goes to its own
    /// loop and back twice: for its options, and for its handlers.
    func close() async {
        let channel = listener.channel
        try? await channel.setOption(.autoRead, value: false).get()
        for _ in 0..<2 {
            for loop in MultiThreadedEventLoopGroup.singleton.makeIterator() { try? await loop.submit {}.get() }
            try? await channel.eventLoop.submit {}.get()
        }
        try? await channel.close().get()
    }
}

extension Connection {
    /// Closes a connection at once.
    static func refuse(_ channel: Channel) async { try? await channel.executeThenClose { _, _ in } }
}

extension SocketAddress {
    fileprivate var isLoopback: Bool {
        switch self {
        case .v4: ipAddress?.hasPrefix("127.") == true
        case .v6: ipAddress == "::1"
        case .unixDomainSocket: false
        }
    }
}
