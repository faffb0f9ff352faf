internal import AppAuthLegacy
internal import FoundationEssentials
internal import SampleSupport

/// A shop at Moltin, for its own app. Uses client credentials, with which the session renews itself.
struct Shop {
    private let server: String
    private let client: Client
    private let store: any TokenStore
    private var environment = Environment.live

    init(at location: Server.Location) throws {
        (server, store) = (location.url, location.store)
        client = Client(
            id: location.clientID, authentication: location.secret.map(ClientAuthentication.clientSecretPost) ?? .none,
            provider: try ProviderMetadata(tokenEndpoint: server + "/oauth/access_token"))
        environment.dialect = .moltin
    }

    /// Gets a token, which is renewed automatically from then on.
    func authenticate() async throws {
        let state = try await AuthState.present(
            .clientCredentials(), as: client, store: store, environment: environment)
        tell("Authenticated: \(try await describe(state.freshAccessToken()))")
    }

    /// Authenticates with a client ID that Moltin does not know.
    func authenticateWrongly() async throws {
        let unknown = Client(
            id: "no-such-client", authentication: client.authentication, provider: client.provider)
        _ = try await AuthState.present(
            .clientCredentials(), as: unknown, store: MemoryTokenStore(), environment: environment)
        tell("Authenticated with a wrong client id.")
    }

    /// Gets a new token even if the old one is still valid.
    func refresh() async throws {
        let token = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
        tell("Refreshed: \(describe(token))")
    }

    /// Deletes the token.
    func deleteToken() async throws {
        try await session.use { _ = try await $0.signOut() }
        tell("Deleted the token.")
    }

    /// Lists the products. A token that has expired is renewed before the call, and a token that Moltin rejects after
    /// it.
    func listProducts() async throws {
        let url = try SecureURL(server + "/v1/products")
        let request = HTTPRequest(method: .get, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
        let response = try await session.use { try await $0.send(TransportRequest(request)) }
        guard response.status == .ok, let products = (try? JSON(parsing: response.body))?["result"]?.array else {
            throw AuthError(
                .invalidResponse, .resource,
                "expected a list of products from \(url), found something else with status \(response.status.code)"
            )
        }
        for product in products {
            tell("  \(product["title"]?.string ?? "?")  \(product["price"]?["value"]?.string ?? "")")
        }
    }

    /// The stored session. Each action reads the token from the store.
    private var session: StoredSession { StoredSession(in: store, environment: environment) }

    private func describe(_ token: AccessToken) -> String {
        "the token is valid until \(token.expiresAt?.formatted(.iso8601) ?? "it is revoked")."
    }
}
