internal import HTTPTypes

/// The listening sockets of a provider: one for each part that has an origin of its own.
struct Listeners: Sendable {
    private let servers: [Role: Server]
    let origins: [Role: String]

    var port: Int { servers[.issuer]?.port ?? 0 }

    /// Binds all sockets, or none.
    ///
    /// - Parameters:
    ///   - addresses: The address of each part, the issuer's among them.
    ///   - hostName: The host in the issuer, if it is not the address.
    ///   - port: The port at each address; 0 for any free ones.
    /// - Throws: ``ProviderError`` if an address cannot be bound or is not loopback.
    init(
        at addresses: [Role: String], hostName: String?, port: Int, _ limits: Limits, _ tls: TLSContext?
    ) async throws {
        var (servers, origins) = ([Role: Server](), [Role: String]())
        do {
            for (role, address) in addresses {
                let host = address == "localhost" ? "127.0.0.1" : address
                let server = try await Server.listen(host: host, port: port, limits: limits, tls: tls)
                servers[role] = server
                let own = address.contains(":") ? "[\(address)]" : address
                let name = role == .issuer ? hostName ?? own : own
                origins[role] = "\(tls == nil ? "http" : "https")://\(name):\(server.port)"
            }
        } catch {
            for server in servers.values { await server.discard() }
            throw error
        }
        (self.servers, self.origins) = (servers, origins)
    }

    /// Serves until ``close()`` is called.
    func run(respond: @escaping @Sendable (Request, Role) async throws -> (Reply, Delivery)) async {
        await withDiscardingTaskGroup { group in
            for (role, server) in servers { group.addTask { await server.run { try await respond($0, role) } } }
        }
    }

    func close() async { for server in servers.values { await server.close() } }
}

extension Server {
    /// Closes a server that has not served: NIO traps if a channel is released that was never run.
    fileprivate func discard() async {
        await close()
        await run { _ in (Reply(.notFound), .whole) }
    }
}
