internal import AppAuthConcurrency
internal import JOSE

extension LocalProvider {
    /// Starts a provider that listens and serves until ``stop()`` is called.
    ///
    /// - Parameters:
    ///   - host: `127.0.0.1`, `::1` or `localhost` (bound to 127.0.0.1, with `localhost` in the issuer).
    ///   - port: The port; 0 for a free one.
    /// - Throws: ``ProviderError`` if the address cannot be bound or is not loopback.
    public static func start(
        _ configuration: Configuration = .demo, host: String = "127.0.0.1", port: Int = 0
    ) async throws -> LocalProvider {
        let path = configuration.issuerPath
        guard path.isEmpty || (path.hasPrefix("/") && !path.hasSuffix("/") && !path.contains("?")) else {
            throw ProviderError("expected an issuer path like '/tenant', found '\(path)'")
        }
        let algorithms = configuration.clients.flatMap {
            [$0.idTokenAlgorithm, $0.userInfoAlgorithm, $0.authorizationAlgorithm]
        }
        let keys = KeyRing(algorithms.compactMap(\.self) + [configuration.idTokenAlgorithm])
        let host = host == "[::1]" ? "::1" : host
        let tls = try configuration.tls.map(TLSContext.init)
        var addresses = configuration.addition?.addresses ?? [:]
        addresses[.issuer] = host
        let listeners = try await Listeners(
            at: addresses, hostName: configuration.hostName, port: port, configuration.limits, tls)
        var origins = listeners.origins
        let issuer = Issuer(
            origin: origins.removeValue(forKey: .issuer) ?? "", path: path,
            appendsOAuthMetadata: configuration.appendsOAuthMetadataToIssuer,
            insertsOpenID: configuration.insertsOpenIDConfiguration,
            resourceMetadata: configuration.resourceDescription?.location)
        let context = Context(
            configuration: configuration, issuer: issuer, origins: origins, keys: keys, store: Store(Records()),
            people: LockedValue(configuration.users.map { $0.withPictureClaim(issuer) }),
            registrations: LockedValue([:]), documents: LockedValue([:]),
            ownClient: LoopbackClient(roots: configuration.clientDocumentRoots), formSecret: try randomBytes(32))
        var traffic = Traffic(
            keepsLog: configuration.keepsLog, clock: configuration.clock, observer: configuration.observer)
        traffic.latency = configuration.latency
        return LocalProvider(listeners, context, traffic, respond: Router(context: context, traffic: traffic).respond)
    }
}

/// Runs a test with a provider of its own, and stops it at the end.
///
/// - Parameters:
///   - configuration: The provider's clients, users and behaviour.
///   - host: `127.0.0.1`, `::1` or `localhost`, as for ``LocalProvider/start(_:host:port:)``.
///   - isolation: The actor that the body runs on.
///   - body: The test.
/// - Returns: What the body returned.
/// - Throws: What the body threw; ``ProviderError`` if the provider cannot be started.
@discardableResult
public func withLocalProvider<Value>(
    _ configuration: LocalProvider.Configuration = .demo, host: String = "127.0.0.1",
    isolation: isolated (any Actor)? = #isolation, _ body: (LocalProvider) async throws -> Value
) async throws -> Value {
    let provider = try await LocalProvider.start(configuration, host: host)
    let result: Result<Value, any Error>
    do { result = .success(try await body(provider)) } catch { result = .failure(error) }
    await provider.stop()
    return try result.get()
}
