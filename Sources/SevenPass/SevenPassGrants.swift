public import AppAuth

/// The older SDK's sign-ins without a browser. 7Pass accepts them from clients that are registered for them, with a
/// secret.
///
/// ```swift
/// let grants = SevenPassGrants(configuration)
/// let state = try await grants.signIn(with: facebookToken, of: "facebook", store: store)
/// ```
public struct SevenPassGrants: Sendable {
    /// The app's registration at 7Pass.
    public let configuration: SevenPassConfiguration
    private let environment: Environment

    /// Creates the grants of a client.
    public init(_ configuration: SevenPassConfiguration, environment: Environment = .live) {
        (self.configuration, self.environment) = (configuration, environment)
    }

    /// Signs a user in with the access token of another service (an extension grant, RFC 6749 §4.5).
    ///
    /// The request has `grant_type=social`, which is assumed, and the older SDK's parameters `provider_name` and
    /// `access_token`.
    ///
    /// - Parameters:
    ///   - token: The other service's access token. It is not stored.
    ///   - provider: The service, for example `facebook`.
    ///   - store: The store for the session.
    /// - Throws: The errors of ``Discovery`` and ``AuthState/present(_:as:store:environment:confirm:)``: ``AuthError``
    ///   with ``AuthError/Code/invalidGrant`` if the service does not know the token.
    public func signIn(with token: Secret, of provider: String, store: any TokenStore) async throws -> AuthState {
        let grant = try TokenGrant(
            GrantType(rawValue: "social"), scope: configuration.scope,
            parameters: ["provider_name": Secret(provider), "access_token": token])
        return try await present(grant, store)
    }

    /// Signs a user in with login and password (RFC 6749 §4.3). Neither is stored.
    ///
    /// The request has `login`, as the older SDK's, and no `username`.
    ///
    /// - Throws: As ``signIn(with:of:store:)``: ``AuthError/Code/invalidGrant`` if the login or the password is wrong.
    @available(
        *, deprecated, message: "RFC 9700 §2.4: this grant must not be used. Sign in with the browser (SignIn)"
    )
    public func signIn(login: String, password: Secret, store: any TokenStore) async throws -> AuthState {
        try await signInWithPassword(login, password, store)
    }

    /// The same method without the deprecation, for the package's own code.
    package func signInWithPassword(
        _ login: String, _ password: Secret, _ store: any TokenStore
    ) async throws -> AuthState {
        let grant = try TokenGrant(
            GrantType(rawValue: "password"), scope: configuration.scope,
            parameters: ["login": Secret(login), "password": password])
        return try await present(grant, store)
    }

    private func present(_ grant: TokenGrant, _ store: any TokenStore) async throws -> AuthState {
        try await AuthState.present(
            grant, as: configuration.client(environment).client(), store: store, environment: environment)
    }
}
