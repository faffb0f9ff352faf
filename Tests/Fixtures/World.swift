package import AppAuth
package import AppAuthProtocol
package import AppAuthSession
internal import Foundation
package import AppAuthTestProvider
package import ScriptedBrowser

/// A provider on loopback, and the library's environment: a real HTTP client, a clock and a log. Both sides have the
/// same clock.
package struct World: Sendable {
    package let provider: LocalProvider
    package let transport = CurlTransport()
    package let clock: TestClock
    package let log = LogCapture()
    /// The client's key, if the provider encrypts.
    package var decryptionKey: DecryptionKey?

    package var environment: Environment {
        var environment = Environment(transport: transport, now: { [clock] in clock.timestamp }, logger: log.logger)
        if let decryptionKey { environment.decryptionKey = { _ in decryptionKey } }
        return environment
    }

    /// Runs a test with a provider of its own, and stops it at the end. The provider's clock advances steadily, even if
    /// the machine's is set.
    package static func run(
        _ configuration: LocalProvider.Configuration = .demo, providerAhead seconds: Double = 0,
        _ test: (World) async throws -> Void
    ) async throws {
        let clock = TestClock()
        var configuration = configuration
        configuration.clock = { clock.serverNow + seconds }
        try await withLocalProvider(configuration) { try await test(World(provider: $0, clock: clock)) }
    }
}

extension World {
    package func metadata() async throws -> ProviderMetadata {
        try await Discovery(environment: environment).metadata(for: Issuer(provider.issuer))
    }

    package func client(_ id: String = "demo", _ authentication: ClientAuthentication = .none) async throws -> Client {
        Client(id: id, authentication: authentication, provider: try await metadata())
    }

    /// Signs in on the provider's pages, as alice or another user.
    package func authorize(
        _ client: Client, as user: LocalProvider.User = .alice, scope: [Scope] = [.openID, .profile, .offlineAccess],
        options: AuthorizationRequest.Options = .init(), in environment: Environment? = nil
    ) async throws -> AuthorizationResponse {
        let listener = try LoopbackRedirectListener(responseMode: options.responseMode ?? .query)
        defer { listener.close() }
        let request = try await AuthorizationRequest(
            client: client, redirectURI: listener.redirectURI, scope: scope, options: options
        ).prepared(in: environment ?? self.environment)
        async let lastPage = browser(of: user).visit(request.url)
        let result = try await listener.redirect { query -> Result<AuthorizationResponse, any Error>? in
            do { return try request.response(fromQuery: query).map(Result.success) } catch {
                return .failure(error)
            }
        }
        await listener.finish(with: .signedIn(appName: "Test"))
        _ = try await lastPage
        return try result.get()
    }

    /// Creates a session by a complete sign-in over HTTP.
    package func signIn(
        _ client: Client? = nil, scope: [Scope] = [.openID, .profile, .offlineAccess],
        store: any TokenStore = MemoryTokenStore()
    ) async throws -> AuthState {
        let known = if let client { client } else { try await self.client() }
        let response = try await authorize(known, scope: scope)
        return try await AuthState.exchange(response, store: store, environment: environment)
    }

    package var browser: ScriptedBrowser { browser(of: .alice) }

    private func browser(of user: LocalProvider.User) -> ScriptedBrowser {
        ScriptedBrowser(transport: transport, entries: ["username": user.name, "password": user.password])
    }
}
