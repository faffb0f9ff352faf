/// An app's registration at a provider, and what the app requests there: everything that the ways to sign in have in
/// common.
///
/// ```swift
/// var configuration = ClientConfiguration(
///     issuer: "https://accounts.example.org", clientID: "my-app", environment: .live)
/// configuration.dpop = .es256
/// let client = try await configuration.client()
/// ```
public struct ClientConfiguration: Sendable {
    /// The provider's issuer.
    public var issuer: Issuer
    /// The provider's metadata, for a provider without discovery. If nil, it is fetched from the issuer.
    public var provider: ProviderMetadata?
    /// Where the provider's metadata is, if that does not follow from the issuer, as at Azure AD B2C. The document must name
    /// the issuer all the same.
    public var metadataURL: SecureURL?
    /// The client ID.
    public var clientID: String
    /// How the client authenticates. If nil: with ``clientSecret``, by a method that the provider lists; without a secret,
    /// as ``registration`` says; without both, ``ClientAuthentication/none``.
    public var authentication: ClientAuthentication?
    /// The client secret, for a confidential client.
    public var clientSecret: Secret?
    /// The type of key that binds the tokens to the session (RFC 9449), or nil for bearer tokens.
    public var dpop: DPoPAlgorithm?
    /// The provider of OpenSSL that makes the key of ``dpop`` and uses it where it is, so that a copy of the store is worth
    /// nothing; nil for a key in the store. With ``KeyProvider/tpm2``, each session has a key that only the TPM of this
    /// machine can use, and the algorithm is ``DPoPAlgorithm/es256``.
    public var dpopKeyProvider: KeyProvider?
    /// Whether tokens are bound to the client certificate that the transport presents (RFC 8705 §3).
    public var bindsTokensToCertificate = false
    /// What is accepted in ID tokens. It is stored with the session.
    public var idTokenRules = IDTokenRules()
    /// The result of dynamic client registration (RFC 7591), if any. It is stored with the session.
    public var registration: ClientRegistration?
    /// The scopes that a sign-in requests. If nil, `openid`, `profile` and `offline_access`, as far as the provider
    /// lists them (``ProviderMetadata/scopes``) and has registered the client for them (``registration``).
    public var scope: [Scope]?
    /// Scopes that a sign-in requests in addition to ``scope``, for example those that a resource requires
    /// (``StepUpChallenge/scope``).
    public var additionalScope: [Scope] = []
    /// The HTTP transport, clock and logger.
    public var environment: Environment { didSet { discovery = Discovery(environment: environment) } }
    /// Caches the metadata for later uses of this value and its copies.
    private var discovery: Discovery

    /// Creates a configuration.
    public init(
        issuer: Issuer, clientID: String, clientSecret: Secret? = nil, scope: [Scope]? = nil, environment: Environment
    ) {
        (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
        (self.scope, self.environment) = (scope, environment)
        discovery = Discovery(environment: environment)
    }

    /// Creates the configuration of a client whose provider's metadata is known, for example a registered one
    /// (``ClientRegistration/client(at:keyNamed:)``).
    public init(_ client: Client, environment: Environment) {
        self.init(issuer: client.provider.issuer, clientID: client.id, environment: environment)
        (provider, authentication, registration) = (client.provider, client.authentication, client.registration)
        metadataURL = client.provider.location
        (dpop, idTokenRules) = (client.dpop, client.idTokenRules)
        (bindsTokensToCertificate, dpopKeyProvider) = (client.bindsTokensToCertificate, client.dpopKeyProvider)
    }

    /// Returns the client, after checking that the provider has everything that is needed (OpenID Connect Discovery
    /// §3).
    ///
    /// Without ``provider``, the metadata is fetched, unless this value or a copy has recently fetched it. If an endpoint is
    /// missing in it, so is the document of RFC 8414 (``Discovery/complete(_:with:policy:)``).
    ///
    /// - Parameter endpoints: The endpoints that the app needs.
    /// - Throws: As ``Discovery/metadata(for:at:policy:)`` and ``Discovery/complete(_:with:policy:)``; ``AuthError`` with
    ///   ``AuthError/Code/invalidMetadata`` that names a missing endpoint, and with
    ///   ``AuthError/Code/invalidConfiguration`` if ``registration`` has an authentication that the library does not
    ///   have.
    public func client(requiring endpoints: [ProviderMetadata.Endpoint] = [.token]) async throws -> Client {
        let isIssuer = [clientID, clientID + "/"].contains(issuer.string) || clientID == issuer.string + "/"
        guard registration != nil || !isIssuer else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "the client ID is the URL of the issuer. Expected the ID that the provider gave your app")
        }
        var found = if let provider { provider } else { try await fetched() }
        for endpoint in endpoints {
            // Some providers list their endpoints only in the metadata of RFC 8414, for example that of RFC 8628 §4.
            do {
                found = try await discovery.complete(found, with: endpoint, policy: idTokenRules.issuer)
            } catch let failure as AuthError where endpoint != .deviceAuthorization {
                do { _ = try found.require(endpoint) } catch var error as AuthError {
                    error.message += "; \(failure.message)"
                    throw error
                }
            }
            _ = try found.require(endpoint)
        }
        return try client(with: found)
    }

    /// Returns the scopes to request: the app's, or the default ones that the provider lists; then the additional ones.
    /// For an unknown scope, some providers show an error page of their own.
    ///
    /// OpenID Connect Discovery §3: every server supports `openid`, and one without a list may support any scope.
    package func scope(at provider: ProviderMetadata, leavingOut tell: ([Scope]) -> Void) -> [Scope] {
        if let scope { return scope.adding(additionalScope) }
        let wanted = defaultScope
        let isListed = { (value: Scope) in
            value == .openID || !Self.standard.contains(value) || provider.scopes?.contains(value.rawValue) ?? true
        }
        let leftOut = Self.standard.filter { !wanted.contains($0) || !isListed($0) }
        if !leftOut.isEmpty { tell(leftOut) }
        return wanted.filter(isListed).adding(additionalScope)
    }

    private static let standard: [Scope] = [.openID, .profile, .offlineAccess]

    /// The scopes that are requested if the app names none, and the provider lists them: those for which it has registered
    /// the client. Some providers register OpenID Connect clients for the other standard scopes only.
    private var defaultScope: [Scope] {
        guard let registered = registration?.metadata.scope, !registered.isEmpty else { return Self.standard }
        let ofOpenID: [Scope] = Self.standard + [.email, .address, .phone]
        guard registered.contains(where: ofOpenID.contains) else { return registered }
        return Self.standard.filter { $0 == .openID || registered.contains($0) }
    }

    /// Whether a sign-in requests an ID token.
    package var requestsIDToken: Bool {
        !idTokenRules.areIgnored && (scope ?? defaultScope).adding(additionalScope).contains(.openID)
    }

    private func fetched() async throws -> ProviderMetadata {
        try await discovery.metadata(for: issuer, at: metadataURL, policy: idTokenRules.issuer)
    }

    /// Returns the client with the metadata of its provider.
    ///
    /// - Parameter known: Metadata from earlier, if ``provider`` is nil.
    package func client(at known: ProviderMetadata) throws -> Client { try client(with: provider ?? known) }

    private func client(with provider: ProviderMetadata) throws -> Client {
        let bySecret = clientSecret.map { ClientAuthentication.secret($0, for: provider) }
        var client = Client(
            id: clientID, authentication: try authentication ?? bySecret ?? registration?.authentication() ?? .none,
            provider: provider, dpop: dpop, bindsTokensToCertificate: bindsTokensToCertificate)
        (client.registration, client.idTokenRules) = (registration, idTokenRules)
        client.dpopKeyProvider = dpopKeyProvider
        return client
    }
}
