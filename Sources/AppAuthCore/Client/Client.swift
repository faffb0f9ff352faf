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
    /// Whether tokens are bound to the certificate that the transport shows (RFC 8705 §3), however the client
    /// authenticates.
    public let bindsTokensToCertificate: Bool
    /// What the provider registered, where the client was registered by ``ClientRegistrationRequest``.
    public package(set) var registration: ClientRegistration?

    /// Puts a client together.
    public init(
        id: String, authentication: ClientAuthentication = .none, provider: ProviderMetadata,
        dpop: DPoPAlgorithm? = nil, bindsTokensToCertificate: Bool = false
    ) {
        self.bindsTokensToCertificate = bindsTokensToCertificate
        (self.id, self.authentication, self.provider, self.dpop) = (id, authentication, provider, dpop)
    }
}
