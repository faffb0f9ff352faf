public import FoundationEssentials
package import JOSE

extension LocalProvider {
    /// The provider's behaviour. Lifetimes are in seconds.
    public struct Configuration: Sendable {
        /// The registered clients.
        public var clients: [RegisteredClient]
        /// The users who can sign in.
        public var users: [User]
        /// The path of the issuer: empty, or for example `/tenant`.
        public var issuerPath = ""
        /// The host of the issuer, for a provider that clients reach through a proxy, which knows this name. If nil, it
        /// is the address of the provider.
        package var hostName: String?

        /// The certificate files for HTTPS; nil for plain HTTP.
        public var tls: TLSFiles?

        /// The lifetime of an access token.
        public var accessTokenLifetime = 3600
        /// The lifetime of a refresh token from its last use.
        public var refreshTokenLifetime = 90 * 86_400
        package var idTokenLifetime = 600
        package var codeLifetime = 60
        package var pushedRequestLifetime = 60
        /// The lifetime of a device code (RFC 8628 §3.2).
        public var deviceCodeLifetime = 600
        /// The interval that a device must keep between two polls.
        public var devicePollingInterval = 5
        /// The time for which a browser stays signed in.
        public var sessionLifetime = 8 * 3600

        /// Whether each refresh issues a new refresh token. If the old one is used again, the whole family is revoked
        /// (RFC 9700 §4.14.2).
        public var rotatesRefreshTokens = true
        /// Whether every grant of a user to a client that can refresh has a refresh token, even without the scope
        /// offline_access, as with servers without OpenID Connect (RFC 6749 §1.5).
        package var givesRefreshTokensUnasked = false
        /// Whether a refresh token is issued for `access_type=offline` with `prompt=consent`, as at Google, and not for the
        /// scope offline_access.
        package var issuesRefreshTokensByAccessType = false
        /// The time for which an old refresh token stays valid after a rotation.
        public var refreshTokenGracePeriod = 0

        /// The seconds after which clients should refresh (`refresh_in`); nil sends none.
        package var refreshIn: Int?

        /// The tenant of all users, with an issuer of its own for ID tokens, as at Microsoft Entra. The metadata names a
        /// template as the issuer. If nil, there are no tenants.
        package var tenant: String?

        package var idTokenAlgorithm = SignatureAlgorithm.rs256
        /// Whether the response to a refresh has an ID token (OpenID Connect Core §12.2).
        public var sendsIDTokenOnRefresh = true
        /// Whether the ID token contains the claims of the scopes, and not only the userinfo response.
        package var putsUserClaimsInIDToken = true
        /// Whether the ID token has `azp` even if the client is the only audience.
        package var namesAuthorizedParty = false

        /// Whether the user is asked once for each client and scope. If not, only `prompt=consent` asks.
        public var requiresConsent = true
        package var requiresState = true
        /// The scopes of a request that names none (RFC 6749 §3.3); empty if each must name some.
        package var defaultScopes: [String] = []
        /// Whether authorization requests must be pushed (RFC 9126 §5).
        public var requiresPushedRequests = false
        /// Whether authorization requests must be signed request objects (RFC 9101 §10.5).
        package var requiresSignedRequestObjects = false
        /// Whether access tokens are also accepted in the body of a form (RFC 6750 §2.2).
        package var takesTokensInForms = false
        /// Whether authorization responses have `iss` (RFC 9207).
        package var sendsIssuerParameter = true
        /// The algorithms that are accepted for DPoP proofs.
        package var dpopAlgorithms = SignatureAlgorithm.available
        package var dpopNonce = DPoPNonce.off
        /// Whether only the RFC 8414 document has the revocation and introspection endpoints, and the OpenID document
        /// does not.
        package var namesRevocationInOAuthMetadataOnly = false
        /// Whether the RFC 8414 document is at `<issuer>/.well-known/oauth-authorization-server`, which differs from
        /// the location in its §3.1 if the issuer has a path.
        package var appendsOAuthMetadataToIssuer = false
        /// Whether the OpenID document is between the host and the issuer's path, as in RFC 8414 §3.1.
        package var insertsOpenIDConfiguration = false
        /// Whether the token endpoint is the only accepted audience of client assertions (OpenID Connect Core §9).
        package var requiresTokenEndpointAudience = false
        /// The values that `resource` may have besides the demo resource (RFC 8707).
        package var resources: [String] = []
        /// The description that the demo resource gives of itself (RFC 9728); nil if it gives none.
        package var resourceDescription: ResourceDescription?
        /// The PEM file of the certificates that are trusted when the provider fetches the metadata document of a client,
        /// whose URL on loopback is the client id; nil if it accepts no such document.
        package var clientDocumentRoots: String?
        /// The types that `authorization_details` may have (RFC 9396 §2).
        package var authorizationDetailsTypes: [String] = []

        /// The authentication contexts that can be requested. The user's pages are the same for each.
        package var acrValues = [Metadata.acr]
        /// The requirements of resources beyond a token (RFC 9470).
        package var authenticationRequirements: [Endpoint: AuthenticationRequirement] = [:]

        /// The dynamic registration of clients; nil if there is none.
        package var registration: DynamicRegistration?

        /// The issuers whose assertions about users are accepted for a sign-in (RFC 7523 §2.1).
        package var assertionIssuers: [TrustedIssuer] = []
        /// The ID that a client has at other authorization servers, at which the provider vouches for its users (ID-JAG); nil
        /// if it does not.
        package var clientOfIdentityAssertions: String?

        package var metadataCacheControl: String? = "public, max-age=3600"
        package var keysCacheControl: String? = "public, max-age=3600"

        /// The minimum time of each response of an endpoint.
        package var latency: [Endpoint: Duration] = [:]
        package var limits = Limits()
        /// The provider's clock. With a clock of the test, tokens expire without waiting.
        public var clock: @Sendable () -> Date = { Date() }
        /// Whether every request is kept for ``LocalProvider/log``. Turn it off for a provider that runs for days.
        package var keepsLog = true
        /// Called with each request when its response is ready.
        package var observer: (@Sendable (LoggedRequest) -> Void)?
        var addition: (any ProviderAddition)?
        /// Changes each response to that of another provider.
        var translation: @Sendable (Reply, Request, Endpoint) -> Reply = { reply, _, _ in reply }

        /// Creates a configuration of these clients and users.
        public init(clients: [RegisteredClient], users: [User]) { (self.clients, self.users) = (clients, users) }
    }
}

extension LocalProvider.Configuration {
    /// A configuration with the public client `demo`, two confidential clients, `demo-confidential` and `demo-service`,
    /// and the user alice.
    public static var demo: LocalProvider.Configuration {
        var configuration = Self(clients: [.demo, .demoConfidential, .demoService], users: [.alice])
        configuration.registration = DynamicRegistration()
        return configuration
    }
}

extension RegisteredClient {
    /// A native app: public, with any loopback redirect URI.
    public static var demo: RegisteredClient {
        RegisteredClient(
            id: "demo", name: "Demo App", redirectURIs: [.anyLoopback],
            grantTypes: ["authorization_code", "refresh_token", GrantType.deviceCode])
    }

    /// A confidential client with every grant. Its secret needs the form encoding of RFC 6749 §2.3.1.
    public static var demoConfidential: RegisteredClient {
        RegisteredClient(
            id: "demo-confidential", secret: "s3cret: 100% äß+/= and thirty-two", name: "Demo Server",
            redirectURIs: [.anyLoopback],
            grantTypes: [
                "authorization_code", "refresh_token", "client_credentials", "password", GrantType.deviceCode,
                GrantType.tokenExchange, GrantType.assertion, GrantType.backchannel,
            ])
    }

    /// A program that acts for itself.
    public static var demoService: RegisteredClient {
        RegisteredClient(
            id: "demo-service", secret: "service-secret-of-thirty-two-bytes", name: "Demo Service",
            grantTypes: ["client_credentials"])
    }
}

extension LocalProvider.User {
    /// The demo user: `alice`, with the password `looking-glass` and a picture.
    public static var alice: Self {
        var alice = Self(
            name: "alice", password: "looking-glass", subject: "248289761001",
            claims: [
                "name": "Alice Liddell", "given_name": "Alice", "family_name": "Liddell",
                "preferred_username": "alice", "locale": "en-GB", "zoneinfo": "Europe/London",
                "email": "alice@example.com", "email_verified": true,
                "phone_number": "+44 1865 000000", "phone_number_verified": false,
                "address": ["locality": "Oxford", "country": "United Kingdom"],
                "updated_at": 1_735_689_600,
            ])
        alice.picture = PackageResources.alice_png
        return alice
    }
}
