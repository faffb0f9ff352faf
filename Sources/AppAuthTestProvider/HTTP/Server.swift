internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import Glibc
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A listening socket on loopback, and its connections.
struct Server: Sendable {
    private let listener: NIOAsyncChannel<Connection.Accepted, Never>
    private let unserved: Unserved
    private let limits: Limits
    private let heldPort: HeldPort
    private let socket: CInt

    var port: Int { heldPort.number }

    /// Binds and listens. Connections are accepted after ``run(respond:)`` is called.
    ///
    /// - Parameter tls: The TLS context; nil for plain HTTP.
    /// - Throws: ``ProviderError`` if the host is not loopback or the port cannot be bound.
    static func listen(host: String, port: Int, limits: Limits, tls: TLSContext? = nil) async throws -> Server {
        guard let address = try? SocketAddress(ipAddress: host, port: port),
            address.ipAddress?.isLoopbackHost == true
        else {
            throw ProviderError("expected 127.0.0.1 or ::1 as the host, found '\(host)'")
        }
        let unserved = Unserved()
        do {
            let heldPort = try HeldPort(address)
            let socket = try heldPort.listener()
            let listener = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(socket) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let encryption = try tls.map(TLSHandler.init)
                        if let encryption { try channel.pipeline.syncOperations.addHandler(encryption) }
                        let limit = HeadLimit(maximum: limits.headBytes)
                        try channel.pipeline.syncOperations.addHandlers([
                            limit, ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
                            HeadLimit.Mark(limit),
                        ])
                        let connection = try Connection.Channel(wrappingChannelSynchronously: channel)
                        unserved.add(connection)
                        return Connection.Accepted(channel: connection, certificate: encryption?.certificate)
                    }
                }
            return Server(listener: listener, unserved: unserved, limits: limits, heldPort: heldPort, socket: socket)
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw ProviderError(
                "could not listen on \(host) port \(port): another program uses it. Choose another port")
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
                    unserved.remove(accepted.channel)
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
        await unserved.end()
    }

    /// Stops accepting connections and ends ``run(respond:)``.
    func close() async {
        let channel = listener.channel
        let closed = channel.eventLoop.flatSubmit {
            // A process that is being started still has copies of all descriptors for a moment, and close(2) closes only one.
            if channel.isActive { shutdown(socket, CInt(SHUT_RDWR)) }
            return channel.close()
        }
        try? await closed.get()
    }
}

/// The connections that were accepted and are not served yet. If the server closes before, no handler gets them, and NIO
/// traps if an unused channel is released. So each one is kept here until it is served or refused.
private final class Unserved: Sendable {
    private struct State {
        var isOver = false
        var channels: [ObjectIdentifier: Connection.Channel] = [:]
    }

    private let state = LockedValue(State())

    func add(_ channel: Connection.Channel) {
        let isOver = state.withLock { state in
            if !state.isOver { state.channels[ObjectIdentifier(channel.channel)] = channel }
            return state.isOver
        }
        if isOver { Task { await Connection.refuse(channel) } }
    }

    func remove(_ channel: Connection.Channel) {
        state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel.channel)) }
    }

    /// Refuses the rest, and each that comes later.
    func end() async {
        let rest = state.withLock { state in
            defer { state.channels = [:] }
            state.isOver = true
            return state.channels.values
        }
        for channel in rest { await Connection.refuse(channel) }
    }
}

extension Connection {
    /// Closes a connection at once.
    static func refuse(_ channel: Channel) async { try? await channel.executeThenClose { _, _ in } }
}
