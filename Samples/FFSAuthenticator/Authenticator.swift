internal import AppAuthFoundation
internal import Foundation
internal import FoundationNetworking
internal import SampleSupport

/// A request authenticator in the style of FFSAuthenticator, with the same methods. Between two calls, none of its
/// secrets is in memory: each call reads the store.
struct Authenticator: Sendable {
    private let client: Client
    private let store: any TokenStore
    private var environment = Environment.live

    /// - Parameters:
    ///   - tokenURLRequest: The request of the token endpoint. Its URL and header fields are used; method, body and
    ///     `Content-Type` are always those of a token request.
    ///   - secret: With a secret, the client authenticates by HTTP Basic. Without one, it sends `client_id`.
    ///   - store: The first of four points to override: the token store.
    init(tokenURLRequest: URLRequest, clientID: String, secret: Secret?, store: any TokenStore) throws {
        self.store = store
        client = Client(
            id: clientID, authentication: secret.map(ClientAuthentication.clientSecretBasic) ?? .none,
            provider: try ProviderMetadata(tokenRequest: tokenURLRequest))
        environment.dialect.addFields(of: tokenURLRequest)
        // The second, the HTTP session. This app overrides it: all its requests use URLSession.
        environment.transport = URLSessionTransport()
        // The third, the access-token parser, is environment.dialect.tokenResponse. The fourth, the request
        // authenticator, which adds the token to a request, is environment.dialect.authorize.
    }

    private var session: StoredSession { StoredSession(in: store, environment: environment) }

    /// Signs in with a name and a password, which are not stored.
    func requestAccessToken(username: String, password: Secret) async throws {
        // Equals .password(username:password:) without its warning: RFC 9700 §2.4 forbids this grant to new apps.
        let grant = try TokenGrant(
            GrantType(rawValue: "password"), parameters: ["username": Secret(username), "password": password])
        _ = try await AuthState.present(grant, as: client, store: store, environment: environment)
    }

    /// Adds a valid token to a request. An expired one is refreshed first, once for all callers.
    func authenticateRequest(_ request: URLRequest) async throws -> URLRequest {
        try await session.authenticate(request)
    }

    /// Authenticates a request and sends it. Unlike a plain `URLSession`, it does not follow a redirect with the token.
    func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await session.use { try await AuthenticatedURLSession($0).data(for: request) }
    }

    /// Replaces the access token, even if it is still valid.
    func invalidateAccessToken() async throws {
        _ = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
    }

    /// Forgets the tokens. Returns whether there were any.
    @discardableResult
    func clearAccessToken() async throws -> Bool {
        let state = try await AuthState(restoring: store, environment: environment)
        _ = try await state?.signOut()
        return state != nil
    }
}
