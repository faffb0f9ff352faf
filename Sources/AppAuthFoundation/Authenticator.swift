public import AppAuthProtocol
public import AppAuthSession
public import Foundation
public import FoundationNetworking
public import HTTPTypes

/// A request authenticator: it gets an access token from a token endpoint, and adds it to the `URLRequest`s of an app.
///
/// ```swift
/// let authenticator = try Authenticator(tokenURLRequest: URLRequest(url: tokenURL), clientID: "my-app")
/// try await authenticator.clearAccessToken()
/// try await authenticator.requestAccessToken(username: name, password: password)
/// let request = try await authenticator.authenticateRequest(URLRequest(url: url))
/// ```
/// Between two calls, no token is in memory: each call reads the store, as ``StoredSession`` does. Calls that
/// need a refresh at the same time share one. A failed refresh leaves the tokens as they are, unless the server has
/// rejected the refresh token for good.
///
/// An app can replace four parts: the token store, the `URLSession`, the parser of token responses, and how the token is
/// put on a request.
public struct Authenticator: Sendable {
    /// The store of the tokens.
    public let store: any TokenStore
    private let client: Client
    package var environment = Environment.live

    /// Creates an authenticator. Only the request is required.
    ///
    /// - Parameters:
    ///   - tokenURLRequest: The request of the token endpoint. Its URL and header fields are used. Method, body and
    ///     `Content-Type` are always those of a token request (RFC 6749 §4.3.2).
    ///   - clientID: The client id; nil if the server knows no clients. Without a secret it is the parameter `client_id`.
    ///   - clientSecret: The secret, with which the client authenticates by HTTP Basic (RFC 6749 §2.3.1).
    ///   - store: The token store; nil for the desktop's keyring.
    ///   - urlSession: The session whose configuration all token requests use; nil for a plain one. Its delegate is not
    ///     called, and redirects are not followed: see ``URLSessionTransport``.
    ///   - accessTokenParser: Translates a response of the token endpoint into the standard's JSON, as
    ///     ``Dialect/tokenResponse`` does.
    ///   - requestAuthenticator: Puts the token on a request, as ``Dialect/authorize`` does: by default in the
    ///     `Authorization` field (RFC 6750 §2.1).
    /// - Throws: As ``ProviderMetadata/init(tokenRequest:)``; ``AuthError`` with
    ///   ``AuthError/Code/invalidConfiguration`` for a secret without an id.
    public init(
        tokenURLRequest: URLRequest, clientID: String? = nil, clientSecret: Secret? = nil,
        store: (any TokenStore)? = nil, urlSession: URLSession? = nil,
        accessTokenParser: @escaping @Sendable (TransportResponse) -> TransportResponse = Dialect.standard
            .tokenResponse,
        requestAuthenticator: @escaping @Sendable (AccessToken, inout HTTPFields) -> Void = Dialect.standard.authorize
    ) throws {
        guard clientID != nil || clientSecret == nil else {
            throw AuthError(
                .invalidConfiguration, .configuration, "expected a client id with the client secret, found none")
        }
        client = Client(
            id: clientID ?? "", authentication: clientSecret.map(ClientAuthentication.clientSecretBasic) ?? .none,
            provider: try ProviderMetadata(tokenRequest: tokenURLRequest))
        let program = ProcessInfo.processInfo.processName
        let location = [tokenURLRequest.url?.absoluteString, clientID].compactMap(\.self).joined(separator: " ")
        self.store =
            store ?? KeyringTokenStore(application: program, account: location, label: "Sign-in of \(program)")
        environment.transport = URLSessionTransport(configuration: urlSession?.configuration)
        environment.dialect.tokenResponse = accessTokenParser
        environment.dialect.authorize = requestAuthenticator
        if clientID == nil { environment.dialect.tokenRequest = { form, _, _ in form.remove("client_id") } }
        environment.dialect.addFields(of: tokenURLRequest)
    }

    private var session: StoredSession { StoredSession(in: store, environment: environment) }

    /// Gets tokens for a user's name and password, which are not stored (RFC 6749 §4.3). The request has no scope.
    ///
    /// RFC 9700 §2.4 forbids this grant to new apps: sign in with the browser if the server can.
    ///
    /// - Throws: ``AuthError``: the server's own code, ``AuthError/Code/invalidResponse`` for a response that cannot be
    ///   read, ``AuthError/Code/transport``, ``AuthError/Code/timeout``, ``AuthError/Code/store``; `CancellationError`.
    public func requestAccessToken(username: String, password: Secret) async throws {
        try await requestAccessToken(
            grantType: GrantType(rawValue: "password"),
            parameters: ["username": Secret(username), "password": password])
    }

    /// Gets tokens with any grant and its parameters, for example an extension grant (RFC 6749 §4.5).
    ///
    /// - Throws: As ``requestAccessToken(username:password:)``, and as ``TokenGrant/init(_:scope:resources:parameters:)``.
    public func requestAccessToken(grantType: GrantType, parameters: [String: Secret] = [:]) async throws {
        let grant = try TokenGrant(grantType, parameters: parameters)
        _ = try await AuthState.present(grant, as: client, store: store, environment: environment)
    }

    /// Adds a valid access token to a request. An expired one is refreshed first, once for all callers.
    ///
    /// - Throws: ``AuthError``: ``AuthError/Code/notAuthorized`` if nothing is stored or the session has ended,
    ///   ``AuthError/Code/noRefreshToken`` if the token has expired and the server gave no refresh token, and the errors
    ///   of ``requestAccessToken(username:password:)``; `CancellationError`.
    public func authenticateRequest(_ request: URLRequest) async throws -> URLRequest {
        try await session.authenticate(request)
    }

    /// Authenticates a request and sends it. Unlike a plain `URLSession`, it does not follow a redirect with the token.
    ///
    /// - Throws: As ``authenticateRequest(_:)`` and ``AuthenticatedURLSession/data(for:)``.
    public func data(for request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        try await session.use { try await AuthenticatedURLSession($0).data(for: request) }
    }

    /// Replaces the access token by a refresh, even if it is still valid.
    ///
    /// - Throws: As ``authenticateRequest(_:)``.
    public func invalidateAccessToken() async throws {
        _ = try await session.use { try await $0.freshAccessToken(forceRefresh: true) }
    }

    /// Forgets the tokens, and sends nothing. It also succeeds if there are none.
    ///
    /// - Returns: Whether there were tokens.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store``; `CancellationError`.
    @discardableResult
    public func clearAccessToken() async throws -> Bool {
        let state = try await AuthState(restoring: store, environment: environment)
        _ = try await state?.signOut(revokingTokens: false)
        return state != nil
    }
}

extension AuthError.Code {
    /// No user is signed in: nothing is stored, or the session has ended. Another name of ``signInRequired``.
    public static var notAuthorized: AuthError.Code { .signInRequired }
}
