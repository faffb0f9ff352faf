internal import FoundationEssentials
internal import JOSE

/// An OpenID provider on loopback: strict, with real keys and real state, and with faults on request.
///
/// ```swift
/// let provider = try await LocalProvider.start()
/// provider.fault(.unavailable(retryAfter: 2), at: .token, times: 1)
/// // … sign in at provider.issuer …
/// #expect(provider.count(.token) == 2)
/// await provider.stop()
/// ```
package final class LocalProvider: Sendable {
    /// The issuer identifier, for example `http://127.0.0.1:40123`.
    package let issuer: String
    package let port: Int
    let router: Router
    var context: Context { router.context }
    private let serving: Task<Void, Never>

    /// Listens and serves until it is stopped.
    ///
    /// - Parameters:
    ///   - host: `127.0.0.1`, `::1` or `localhost` (bound to 127.0.0.1, and named so in the issuer).
    ///   - port: 0 for a free one.
    /// - Throws: ``ProviderError`` if the address cannot be bound or is not loopback.
    package static func start(
        _ configuration: Configuration = .demo, host: String = "127.0.0.1", port: Int = 0
    ) async throws -> LocalProvider {
        let path = configuration.issuerPath
        guard path.isEmpty || (path.hasPrefix("/") && !path.hasSuffix("/") && !path.contains("?")) else {
            throw ProviderError("expected an issuer path like '/tenant', found '\(path)'")
        }
        let algorithms = configuration.clients.flatMap { [$0.idTokenAlgorithm, $0.userInfoAlgorithm] }
        let keys = try KeyRing(algorithms.compactMap(\.self) + [configuration.idTokenAlgorithm])
        let host = host == "[::1]" ? "::1" : host
        let server = try await Server.listen(
            host: host == "localhost" ? "127.0.0.1" : host, port: port, limits: configuration.limits)
        let name = host.contains(":") ? "[\(host)]" : host
        let issuer = Issuer(origin: "http://\(name):\(server.port)", path: path)
        let context = Context(
            configuration: configuration, issuer: issuer, keys: keys, store: Store(Records()),
            formSecret: try randomBytes(32))
        return LocalProvider(
            server,
            Router(
                context: context, log: RequestLog(keepsEntries: configuration.keepsLog), plan: FaultPlan(),
                holds: Holds()))
    }

    private init(_ server: Server, _ router: Router) {
        (issuer, port, self.router) = (router.context.issuer.identifier, server.port, router)
        serving = Task { await server.run(answer: router.answer) }
    }

    /// Closes the listener and every connection, and returns when they are closed.
    package func stop() async {
        serving.cancel()
        await serving.value
    }
}

// MARK: What came in

extension LocalProvider {
    /// Every request so far, in the order of arrival.
    package var log: [LoggedRequest] { router.log.all }

    package func log(_ endpoint: Endpoint) -> [LoggedRequest] { log.filter { $0.endpoint == endpoint } }

    package func count(_ endpoint: Endpoint) -> Int { router.log.count(endpoint) }

    /// Returns once an endpoint has had so many requests in all.
    package func requests(_ count: Int, at endpoint: Endpoint) async throws {
        try await router.log.reaches(count, endpoint)
    }

    package func url(_ endpoint: Endpoint) -> String { router.context.issuer.url(endpoint) }
}

// MARK: What goes wrong

extension LocalProvider {
    /// Asks for a fault. Faults of one endpoint stand in a row: each request takes the first, until it was taken so often.
    ///
    /// - Parameter times: nil for always.
    package func fault(_ fault: Fault, at endpoint: Endpoint, times: Int? = 1) {
        router.plan.add(fault, at: endpoint, times: times)
    }

    /// Forgets the faults of an endpoint, or all of them.
    package func clearFaults(at endpoint: Endpoint? = nil) { router.plan.clear(endpoint) }

    /// Parks the requests of an endpoint from now on, until they are released.
    package func hold(_ endpoint: Endpoint, before moment: Hold.Moment = .answer) -> Hold {
        let hold = Hold(moment)
        router.holds.add(hold, at: endpoint)
        return hold
    }
}

// MARK: Keys

extension LocalProvider {
    /// Publishes the next keys; they do not sign yet.
    package func announceSigningKeys() throws { try router.context.keys.announce() }

    /// Signs with the next keys from now on. The old ones stay published.
    package func rotateSigningKeys() throws { try router.context.keys.rotate() }

    /// Takes the keys that no longer sign out of the key set.
    package func withdrawOldSigningKeys() throws { try router.context.keys.withdrawOldKeys() }
}
