internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// An OpenID provider on loopback. It is strict, has real keys and real state, and produces faults on request.
///
/// ```swift
/// try await withLocalProvider { provider in
///     provider.fault(.unavailable(retryAfter: 2), at: .token)
///     // … sign in at provider.issuer, as the client `demo` …
///     #expect(provider.count(.token) == 2)
/// }
/// ```
/// A public client `demo` takes any loopback redirect, and the user `alice` signs in with the password `looking-glass`;
/// ``Configuration`` changes that.
public final class LocalProvider: Sendable {
    /// The issuer identifier, for example `http://127.0.0.1:40123`.
    public let issuer: String
    /// The port on which the provider listens.
    public let port: Int
    let context: Context
    /// The requests and faults so far.
    public let traffic: Traffic
    private let listeners: Listeners
    private let serving: Task<Void, Never>

    init(
        _ listeners: Listeners, _ context: Context, _ traffic: Traffic,
        respond: @escaping @Sendable (Request, Role) async throws -> (Reply, Delivery)
    ) {
        (issuer, port, self.context, self.traffic) = (context.issuer.identifier, listeners.port, context, traffic)
        self.listeners = listeners
        serving = Task { await listeners.run(respond: respond) }
    }

    /// Closes all listeners and connections, and returns when they are closed. While this object exists, connections to its
    /// port are refused, or a new provider listens on it: no other program gets the port meanwhile.
    public func stop() async {
        await listeners.close()
        await serving.value
    }
}

extension LocalProvider: ObservedService {
    /// Returns the URL of an endpoint.
    public func url(_ endpoint: Endpoint) -> String { context.url(endpoint) }
}

// MARK: Keys

extension LocalProvider {
    /// Publishes the next keys. They do not sign yet.
    package func announceSigningKeys() throws { try context.keys.announce() }

    /// Makes the next keys current. The old ones stay published.
    package func rotateSigningKeys() throws { try context.keys.rotate() }

    /// Replaces the current keys with new ones under the same ids.
    package func replaceSigningKeys() throws { try context.keys.replace() }

    /// Removes the former keys from the key set.
    package func withdrawOldSigningKeys() throws { try context.keys.withdrawOldKeys() }
}
