internal import HTTPTypes
internal import JOSE

/// The server of a double that is not an OpenID provider. Each request passes the log, the holds and the faults.
package struct DoubleServer: ObservedService {
    /// The scheme, host and port.
    package let origin: String
    package let traffic: Traffic
    private let server: Server
    private let serving: Task<Void, Never>

    /// - Parameters:
    ///   - locations: The endpoints by their paths. Every other path is ``Endpoint/none``.
    ///   - respond: Called for each request that is meant for this origin, including ``Endpoint/none``.
    /// - Throws: ``ProviderError`` if the address cannot be bound or is not loopback.
    package static func start(
        _ options: DoubleOptions, _ clock: MovableClock, locations: [String: Endpoint] = [:],
        respond: @escaping @Sendable (Request, Endpoint) async throws -> Reply
    ) async throws -> DoubleServer {
        let server = try await Server.listen(
            host: options.host == "localhost" ? "127.0.0.1" : options.host, port: options.port, limits: Limits(),
            tls: options.tls.map(TLSContext.init))
        let name = options.host.contains(":") ? "[\(options.host)]" : options.host
        let origin = "\(options.tls == nil ? "http" : "https")://\(name):\(server.port)"
        let traffic = Traffic(keepsLog: options.keepsLog, clock: { clock.now }, observer: options.observer)
        let serving = Task {
            await server.run { request in
                let endpoint = locations[request.path] ?? .none
                return try await traffic.pass(request, at: endpoint) { faults in
                    guard request.isMeant(for: origin) else { return .misdirected(from: origin) }
                    do {
                        return try await respond(request, endpoint).edited(by: faults)
                    } catch {
                        return Reply(.internalServerError, type: "text/plain; charset=utf-8", "\(error)\n")
                    }
                }
            }
        }
        return DoubleServer(origin: origin, traffic: traffic, server: server, serving: serving)
    }

    /// Closes the listener and every connection, and returns when they are closed.
    package func stop() async {
        await server.close()
        await serving.value
    }
}

extension Reply {
    /// Returns the reply with its document changed by the faults. A body that is not a JSON object is unchanged.
    fileprivate func edited(by faults: [Fault.Effect]) -> Reply {
        var reply = self
        for case .editDocument(let edit) in faults {
            guard var document = try? JSON(parsing: reply.body).object else { continue }
            edit(&document)
            reply.body = Array(JSON.object(document).serialized().utf8)
        }
        return reply
    }
}
