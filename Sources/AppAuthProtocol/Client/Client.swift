/// An app as registered at a provider: its client ID, its authentication, and the provider.
public struct Client: Sendable, Hashable {
    /// The client ID.
    public let id: String
    /// How the client authenticates at the token endpoint.
    public let authentication: ClientAuthentication
    /// The provider.
    public var provider: ProviderMetadata
    /// The kind of key that the session's tokens are bound to (RFC 9449); nil for bearer tokens.
    public let dpop: DPoPAlgorithm?
    /// Whether tokens are bound to the certificate of the connection (RFC 8705 §3), however the client authenticates.
    public let bindsTokensToCertificate: Bool
    /// The only accepted signature algorithm of ID tokens and logout tokens, for example `ES256`.
    ///
    /// Set it if the app knows the client's registration (`id_token_signed_response_alg`). If it is nil, the algorithm
    /// in ``registration`` counts, or else those that the provider lists. For tokens that do not come from the token
    /// endpoint, an HMAC (`HS256`) is accepted only if it is named here or registered.
    public let idTokenSignedResponseAlgorithm: String?
    /// What is accepted in ID tokens.
    public var idTokenRules = IDTokenRules()
    /// The provider's registration of the client, if ``ClientRegistrationRequest`` registered it.
    public package(set) var registration: ClientRegistration?

    /// Creates a client.
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
