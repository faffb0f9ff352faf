/// A grant that an app presents without a browser: its own credentials (RFC 6749 §4.4), or an extension grant (§4.5)
/// such as a token of another service.
///
/// ```swift
/// let state = try await AuthState.present(
///     .clientCredentials(scope: ["orders:read"]), as: client, store: store, environment: .live)
/// ```
public struct TokenGrant: Sendable, Hashable {
    /// The grant type.
    public let type: GrantType
    /// The requested scopes; empty leaves them to the server.
    public let scope: [Scope]
    /// The absolute URIs of the resources that the token is for (RFC 8707).
    public let resources: [String]
    /// Further parameters of the grant type, for example `assertion`. They never appear in logs and errors.
    public let parameters: [String: Secret]
    /// The name of the assertion for each request, see ``Environment/grantAssertion``; nil if the parameters have it, or if
    /// the grant needs none.
    public let assertionName: String?
    /// The user that each of these assertions must be about; nil if the name is enough.
    public let assertionUser: AssertionDemand.User?

    /// Creates a grant.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for a parameter that the library sets
    ///   itself, and for a scope value with an invalid character (RFC 6749 §3.3).
    public init(
        _ type: GrantType, scope: [Scope] = [], resources: [String] = [], parameters: [String: Secret] = [:]
    ) throws {
        try self.init(type, scope: scope, resources: resources, parameters: parameters, assertionNamed: nil)
    }

    init(
        _ type: GrantType, scope: [Scope], resources: [String], parameters: [String: Secret],
        assertionNamed name: String?, about user: AssertionDemand.User? = nil
    ) throws {
        try FormParameters.check(parameters.keys.sorted(), reserved: Self.reservedParameters, for: .token)
        try scope.check(for: .token)
        (self.type, self.scope, self.resources, self.parameters) = (type, scope, resources, parameters)
        (assertionName, assertionUser) = (name, user)
    }

    /// Creates a grant of the client's own credentials (RFC 6749 §4.4), for an app that acts for itself. The session
    /// renews itself with the same grant, for as long as the server knows the client.
    ///
    /// - Throws: As ``init(_:scope:resources:parameters:)``.
    public static func clientCredentials(
        scope: [Scope] = [], resources: [String] = [], parameters: [String: Secret] = [:]
    ) throws -> TokenGrant {
        try TokenGrant(.clientCredentials, scope: scope, resources: resources, parameters: parameters)
    }

    /// The names that a parameter must not have, because the library sets them.
    public static let reservedParameters: Set<String> = [
        "grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type", "scope", "resource",
    ]

    /// Whether the grant can be used repeatedly, so that a session can renew itself with it. A single-use proof of a
    /// user does not belong in a store.
    package var isRepeatable: Bool { type == .clientCredentials || assertionName != nil }
}
