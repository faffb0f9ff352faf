/// An app as one provider knows it: its id, how it authenticates, and the provider.
public struct Client: Sendable, Hashable {
    /// The client id.
    public let id: String
    /// How the client authenticates at the token endpoint.
    public let authentication: ClientAuthentication
    /// The provider.
    public var provider: ProviderMetadata
    /// With what kind of key tokens are bound to the session (RFC 9449); nil for bearer tokens.
    public let dpop: DPoPAlgorithm?

    /// Puts a client together.
    public init(
        id: String, authentication: ClientAuthentication = .none, provider: ProviderMetadata,
        dpop: DPoPAlgorithm? = nil
    ) {
        (self.id, self.authentication, self.provider, self.dpop) = (id, authentication, provider, dpop)
    }

    /// The URL of an endpoint that is needed.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` that names the missing member.
    package func require(_ endpoint: ProviderMetadata.Endpoint) throws -> SecureURL {
        try provider.require(endpoint)
    }
}
