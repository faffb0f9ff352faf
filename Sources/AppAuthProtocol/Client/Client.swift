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
    /// The only algorithm that ID tokens and logout tokens may be signed by, where the app knows what the provider has
    /// registered for it (`id_token_signed_response_alg`), for example `ES256`; nil for what ``registration`` says, or
    /// else what the provider lists. An HMAC (`HS256`) counts for tokens that do not come from the token endpoint only if
    /// it is named here or registered.
    public let idTokenSignedResponseAlgorithm: String?
    /// What the provider registered, where the client was registered by ``ClientRegistrationRequest``.
    public package(set) var registration: ClientRegistration?

    /// Puts a client together.
    public init(
        id: String, authentication: ClientAuthentication = .none, provider: ProviderMetadata,
        dpop: DPoPAlgorithm? = nil, bindsTokensToCertificate: Bool = false,
        idTokenSignedResponseAlgorithm: String? = nil
    ) {
        self.bindsTokensToCertificate = bindsTokensToCertificate
        self.idTokenSignedResponseAlgorithm = idTokenSignedResponseAlgorithm
        (self.id, self.authentication, self.provider, self.dpop) = (id, authentication, provider, dpop)
    }
}
