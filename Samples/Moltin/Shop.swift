internal import AppAuthLegacy
internal import FoundationEssentials
internal import VendorSample

/// A shop at Moltin, for its own app.
struct Shop {
    private let server: String
    private let client: Client
    private let store: any TokenStore
    private var environment = Environment.live

    init(at location: Server.Location) throws {
        (server, store) = (location.url, location.store)
        client = try location.client(tokenPath: "/oauth/access_token")
        environment.dialect = .moltin
    }

    /// Gets a token with client credentials, with which the session renews itself from then on.
    func authenticate() async throws { try await present(.clientCredentials()) }

    /// Gets a token for an app that only reads. It sends only the client ID, and such a session cannot be renewed.
    func authenticateForReading() async throws {
        // Equals .moltinImplicit() without its warning: RFC 9700 §2.5 asks for clients that authenticate.
        try await present(
            TokenGrant(GrantType(rawValue: "implicit")), as: Client(id: client.id, provider: client.provider))
    }

    /// Gets an access token and a refresh token with the code of a user's consent.
    func authenticate(with code: Secret?, redirectURI: String?) async throws {
        guard let code, let redirectURI else {
            throw AuthError(.invalidConfiguration, .configuration, "expected --code-file and --redirect-uri")
        }
        try await present(
            TokenGrant(.authorizationCode, parameters: ["code": code, "redirect_uri": Secret(redirectURI)]))
    }

    private func present(_ grant: TokenGrant, as other: Client? = nil) async throws {
        let state = try await AuthState.present(grant, as: other ?? client, store: store, environment: environment)
        let grant = await state.record.additionalParameters["identifier"]?.string ?? "an unnamed grant"
        tell("Authenticated by \(grant): \(try await describe(state.freshAccessToken()))")
    }

    /// Authenticates with a client ID that Moltin does not know.
    func authenticateWrongly() async throws {
        let unknown = Client(id: "no-such-client", authentication: client.authentication, provider: client.provider)
        _ = try await AuthState.present(
            .clientCredentials(), as: unknown, store: MemoryTokenStore(), environment: environment)
        tell("Authenticated with a wrong client id.")
    }

    /// Gets a new token even if the old one is still valid.
    func refresh() async throws {
        let token = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
        tell("Refreshed: \(describe(token))")
    }

    /// Shows what Moltin makes of the refresh token (RFC 6749 §6), if there is one, and of the old access token.
    func refreshByToken() async throws {
        let record = try await session.use { await $0.record }
        guard let old = record.storedAccessToken else {
            throw AuthError(.signInRequired, .refresh, "the session has ended", outcome: .notSent)
        }
        if record.hasRefreshToken {
            let token = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
            tell("Refreshed with the refresh token: \(describe(token))")
        } else {
            tell("The session has no refresh token: the action code begins one that has.")
        }
        let grant = try TokenGrant(.refreshToken, parameters: ["refresh_token": old.value])
        do {
            _ = try await AuthState.present(
                grant, as: client, store: MemoryTokenStore(), environment: environment)
            tell("Refreshed with the old access token, too.")
        } catch let error as AuthError where error.server != nil {
            tell("With the old access token in its place: \(error.server?.errorDescription ?? "")")
        }
    }

    /// Deletes the token, if there is one.
    func deleteToken() async throws {
        let state = try await AuthState(restoring: store, environment: environment)
        _ = try await state?.signOut()
        tell(state == nil ? "There was no token." : "Deleted the token.")
    }

    /// Lists the products. A token that has expired is renewed before the call, and a token that Moltin rejects after
    /// it. Without a token, the request is sent all the same, and Moltin rejects it.
    func listProducts() async throws {
        let url = server + "/v1/products"
        let request = try TransportRequest(.get, url)
        let response: TransportResponse
        if let state = try await AuthState(restoring: store, environment: environment), await state.isAuthorized {
            response = try await state.send(request)
        } else {
            response = try await environment.transport.send(request)
        }
        let json = try? JSON(parsing: response.body)
        guard response.status == .ok else {
            let errors = json?["errors"]?.string ?? json?["errors"]?.strings?.joined(separator: ", ")
            let sentence = json?["error"]?.string ?? errors ?? "Unknown Error"
            throw AuthError(
                .invalidResponse, .resource, "\(url) responded with status \(response.status.code): \(sentence)")
        }
        guard let products = json?["result"]?.array else {
            throw AuthError(
                .invalidResponse, .resource, "expected a list of products from \(url), found something else")
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
