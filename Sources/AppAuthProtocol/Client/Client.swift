/// An app as registered at a provider: its client ID, its authentication, and the provider.
public struct Client: Sendable, Hashable {
    /// The client ID.
    public let id: String
    /// How the client authenticates at the token endpoint.
    public package(set) var authentication: ClientAuthentication
    /// The provider.
    public var provider: ProviderMetadata
    /// The kind of key that the session's tokens are bound to (RFC 9449); nil for bearer tokens.
    public let dpop: DPoPAlgorithm?
    /// Whether tokens are bound to the certificate of the connection (RFC 8705 §3), however the client authenticates.
    public let bindsTokensToCertificate: Bool
    /// The provider of OpenSSL that makes and uses the key; nil for a key that is stored with the session. See
    /// ``ClientConfiguration/dpopKeyProvider``.
    public var dpopKeyProvider: KeyProvider?
    /// What is accepted in ID tokens.
    public var idTokenRules = IDTokenRules()
    /// The provider's registration of the client, if ``ClientRegistrationRequest`` registered it.
    public package(set) var registration: ClientRegistration?

    /// Creates a client.
    public init(
        id: String, authentication: ClientAuthentication = .none, provider: ProviderMetadata,
        dpop: DPoPAlgorithm? = nil, bindsTokensToCertificate: Bool = false
    ) {
        self.bindsTokensToCertificate = bindsTokensToCertificate
        (self.id, self.authentication, self.provider, self.dpop) = (id, authentication, provider, dpop)
    }
}
