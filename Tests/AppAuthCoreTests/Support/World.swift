import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider
import ScriptedBrowser

/// A provider on loopback, and the library's environment: a real HTTP client, a clock and a log. Both sides have the
/// same clock.
struct World: Sendable {
    let provider: LocalProvider
    let transport = CurlTransport()
    let clock: TestClock
    let log = LogCapture()
    /// The client's key, if the provider encrypts.
    var decryptionKey: DecryptionKey?

    var environment: Environment {
        var environment = Environment(transport: transport, now: { [clock] in clock.timestamp }, logger: log.logger)
        if let decryptionKey { environment.decryptionKey = { _ in decryptionKey } }
        return environment
    }

    /// Runs a test with a provider of its own, and stops it at the end. The provider's clock advances steadily, even if
    /// the machine's is set.
    static func run(
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
    func metadata() async throws -> ProviderMetadata {
        try await Discovery(environment: environment).metadata(for: provider.issuer)
    }

    func client(_ id: String = "demo", _ authentication: ClientAuthentication = .none) async throws -> Client {
        Client(id: id, authentication: authentication, provider: try await metadata())
    }

    /// Signs in as alice on the provider's pages.
    func authorize(
        _ client: Client, scope: [Scope] = [.openID, .profile, .offlineAccess],
        options: AuthorizationRequest.Options = .init(), in environment: Environment? = nil
    ) async throws -> AuthorizationResponse {
        let listener = try LoopbackRedirectListener(responseMode: options.responseMode ?? .query)
        defer { listener.close() }
        let request = try await AuthorizationRequest(
            client: client, redirectURI: listener.redirectURI, scope: scope, options: options
        ).prepared(in: environment ?? self.environment)
        async let lastPage = browser.visit(request.url)
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
    func signIn(
        _ client: Client? = nil, scope: [Scope] = [.openID, .profile, .offlineAccess],
        store: any TokenStore = MemoryTokenStore()
    ) async throws -> AuthState {
        let known = if let client { client } else { try await self.client() }
        let response = try await authorize(known, scope: scope)
        return try await AuthState.exchange(response, store: store, environment: environment)
    }

    var browser: ScriptedBrowser {
        ScriptedBrowser(transport: transport, entries: ["username": "alice", "password": "looking-glass"])
    }
}
