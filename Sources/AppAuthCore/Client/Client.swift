/// An app as one provider knows it: its id, how it authenticates, and the provider.
public struct Client: Sendable, Hashable {
    /// The client id.
    public let id: String
    /// How the client authenticates at the token endpoint.
    public let authentication: ClientAuthentication
    /// The provider.
    public var provider: ProviderMetadata

    /// Puts a client together.
    public init(id: String, authentication: ClientAuthentication = .none, provider: ProviderMetadata) {
        (self.id, self.authentication, self.provider) = (id, authentication, provider)
    }
}
