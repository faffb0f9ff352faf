public import AppAuth
internal import AppAuthLegacy

/// Sign-ins of the older SDK that need no browser. 7Pass takes them from clients that are registered for them, with a
/// secret.
///
/// ```swift
/// let grants = SevenPassGrants(configuration)
/// let state = try await grants.signIn(with: facebookToken, of: "facebook", store: store)
/// ```
public struct SevenPassGrants: Sendable {
    /// The app as 7Pass knows it.
    public let configuration: SevenPassConfiguration
    private let environment: Environment

    /// Describes the client.
    public init(_ configuration: SevenPassConfiguration, environment: Environment = .live) {
        (self.configuration, self.environment) = (configuration, environment)
    }

    /// Signs a person in by the access token of another service (an extension grant, RFC 6749 §4.5).
    ///
    /// Sent as `grant_type=social` with `provider` and `provider_token`.
    ///
    /// - Parameters:
    ///   - token: The other service's access token. It is not stored.
    ///   - provider: The service, for example `facebook`.
    ///   - store: Where the session goes.
    /// - Throws: As ``Discovery`` and ``AuthState/init(presenting:as:store:environment:)`` do: ``AuthError`` with
    ///   ``AuthError/Code/invalidGrant`` for a token that the service does not know.
    public func signIn(with token: Secret, of provider: String, store: any TokenStore) async throws -> AuthState {
        let grant = try TokenGrant(
            GrantType(rawValue: "social"), scope: configuration.scope,
            parameters: ["provider": Secret(provider), "provider_token": token])
        return try await present(grant, store)
    }

    /// Signs a person in by login and password (RFC 6749 §4.3). Neither is stored.
    ///
    /// - Throws: As ``signIn(with:of:store:)``: ``AuthError/Code/invalidGrant`` for a wrong login or password.
    @available(
        *, deprecated, message: "RFC 9700 §2.4: this grant must not be used. Sign in with the browser (SignIn)"
    )
    public func signIn(login: String, password: Secret, store: any TokenStore) async throws -> AuthState {
        try await signInWithPassword(login, password, store)
    }

    /// The same, for what in this package builds without warnings.
    package func signInWithPassword(
        _ login: String, _ password: Secret, _ store: any TokenStore
    ) async throws -> AuthState {
        try await present(
            .resourceOwnerPassword(username: login, password: password, scope: configuration.scope), store)
    }

    private func present(_ grant: TokenGrant, _ store: any TokenStore) async throws -> AuthState {
        try await AuthState(
            presenting: grant, as: configuration.client(environment), store: store, environment: environment)
    }
}
