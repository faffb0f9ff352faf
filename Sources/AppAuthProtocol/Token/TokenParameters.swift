/// A caller's requirements for an access token beyond those of the session: fewer scopes (RFC 6749 §6), or certain
/// resources (RFC 8707). Tokens with different parameters are kept separately and never returned for each other.
public struct TokenParameters: Sendable, Hashable {
    /// The scopes, a subset of those granted; nil for all that were granted.
    public var scope: [Scope]?
    /// The absolute URIs of the resources that the token is for.
    public var resources: [String]
    /// Further parameters of the provider, by name.
    public var others: [String: String]

    /// Creates parameters for certain scopes or resources.
    public init(scope: [Scope]? = nil, resources: [String] = [], others: [String: String] = [:]) {
        (self.scope, self.resources, self.others) = (scope, resources, others)
    }

    /// The parameters of the session's own access token.
    public static let session = TokenParameters()

    private static let reserved: Set<String> = [
        "grant_type", "refresh_token", "client_id", "client_secret", "client_assertion", "client_assertion_type",
        "scope", "resource",
    ]

    /// Returns the parameters for the token endpoint.
    func form() throws -> [(name: String, value: String?)] {
        try FormParameters.check(others.keys.sorted(), reserved: Self.reserved, for: .refresh)
        try scope?.check(for: .refresh)
        return [("scope", scope?.spaceDelimited)] + resources.map { ("resource", $0) }
            + others.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
