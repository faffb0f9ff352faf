package import FoundationEssentials
package import JOSE

extension LocalProvider {
    /// How the provider behaves. Lifetimes are in seconds.
    package struct Configuration: Sendable {
        package var clients: [RegisteredClient]
        package var users: [User]
        /// Empty, or for example `/tenant`.
        package var issuerPath = ""

        /// What HTTPS is served with; nil for plain HTTP.
        package var tls: TLSFiles?

        package var accessTokenLifetime = 3600
        /// Counted from the last use.
        package var refreshTokenLifetime = 90 * 86_400
        package var idTokenLifetime = 600
        package var codeLifetime = 60
        package var pushedRequestLifetime = 60
        package var deviceCodeLifetime = 600
        /// What a device has to leave between two questions.
        package var devicePollingInterval = 5
        /// How long a browser stays signed in.
        package var sessionLifetime = 8 * 3600

        /// A new refresh token at each refresh; the old one, used again, ends the whole family (RFC 9700 §4.14.2).
        package var rotatesRefreshTokens = true
        /// A refresh token with every grant of a person to a client that can refresh, also without the scope
        /// offline_access, as servers without OpenID Connect do it (RFC 6749 §1.5).
        package var givesRefreshTokensUnasked = false
        /// How long an old refresh token is still good after a rotation.
        package var refreshTokenGracePeriod = 0

        package var idTokenAlgorithm = SignatureAlgorithm.rs256
        package var sendsIDTokenOnRefresh = true
        /// The claims of the scopes in the ID token too, and not at the userinfo endpoint alone.
        package var putsUserClaimsInIDToken = true
        /// `azp` also where `aud` is the client alone.
        package var namesAuthorizedParty = false

        /// Asks the person once for each client and scope. Off, only `prompt=consent` asks.
        package var requiresConsent = true
        package var requiresState = true
        /// Authorization requests come pushed or not at all (RFC 9126 §5).
        package var requiresPushedRequests = false
        /// Authorization requests come as signed request objects or not at all (RFC 9101 §10.5).
        package var requiresSignedRequestObjects = false
        /// Access tokens in the body of a form too (RFC 6750 §2.2).
        package var takesTokensInForms = false
        /// `iss` in authorization answers (RFC 9207).
        package var sendsIssuerParameter = true
        /// What DPoP proofs may be signed with.
        package var dpopAlgorithms = SignatureAlgorithm.allCases
        package var dpopNonce = DPoPNonce.off
        /// The OpenID document leaves out revocation and introspection, and the RFC 8414 document has them.
        package var namesRevocationInOAuthMetadataOnly = false
        /// The RFC 8414 document is at `<issuer>/.well-known/oauth-authorization-server` and not where its §3.1 puts it,
        /// which is another place if the issuer has a path.
        package var appendsOAuthMetadataToIssuer = false
        /// Client assertions are meant for the token endpoint (OpenID Connect Core §9); no other audience is taken.
        package var requiresTokenEndpointAudience = false
        /// What `resource` may name beside the demo resource (RFC 8707).
        package var resources: [String] = []
        /// What `authorization_details` may be about (RFC 9396 §2).
        package var authorizationDetailsTypes: [String] = []

        /// The ways to sign in that can be asked for; the person's part is the same in each.
        package var acrValues = [Metadata.acr]
        /// What resources ask for beyond a token (RFC 9470).
        package var authenticationRequirements: [Endpoint: AuthenticationRequirement] = [:]

        /// How clients register themselves; nil where all are registered by hand.
        package var registration: DynamicRegistration?

        /// Whose statements about people are taken for a sign-in (RFC 7523 §2.1).
        package var assertionIssuers: [TrustedIssuer] = []

        package var metadataCacheControl: String? = "public, max-age=3600"
        package var keysCacheControl: String? = "public, max-age=3600"

        /// The time that each response of an endpoint takes at least.
        package var latency: [Endpoint: Duration] = [:]
        package var limits = Limits()
        package var clock: @Sendable () -> Date = { Date() }
        /// Keeps every request for ``LocalProvider/log``; off for a provider that runs for days.
        package var keepsLog = true
        /// Called with each request when its response is ready.
        package var observer: (@Sendable (LoggedRequest) -> Void)?
        var addition: (any ProviderAddition)?

        package init(clients: [RegisteredClient], users: [User]) { (self.clients, self.users) = (clients, users) }
    }
}

extension LocalProvider.Configuration {
    /// The public client `demo`, the confidential client `demo-confidential`, and alice.
    package static var demo: LocalProvider.Configuration {
        var configuration = Self(clients: [.demo, .demoConfidential, .demoService], users: [.alice])
        configuration.registration = DynamicRegistration()
        return configuration
    }
}

extension RegisteredClient {
    /// A native app: public, with any loopback redirect.
    package static var demo: RegisteredClient {
        RegisteredClient(
            id: "demo", name: "Demo App", redirectURIs: [.anyLoopback],
            grantTypes: ["authorization_code", "refresh_token", DeviceCodeGrant.type])
    }

    /// As ``demo`` with a secret that needs the form encoding of RFC 6749 §2.3.1, and every grant.
    package static var demoConfidential: RegisteredClient {
        RegisteredClient(
            id: "demo-confidential", secret: "s3cret: 100% äß+/= and thirty-two", name: "Demo Server",
            redirectURIs: [.anyLoopback],
            grantTypes: [
                "authorization_code", "refresh_token", "client_credentials", "password", DeviceCodeGrant.type,
                TokenExchangeGrant.type, AssertionGrant.type, BackchannelGrant.type,
            ])
    }

    /// A program that acts for itself.
    package static var demoService: RegisteredClient {
        RegisteredClient(
            id: "demo-service", secret: "service-secret-of-thirty-two-bytes", name: "Demo Service",
            grantTypes: ["client_credentials"])
    }
}

extension User {
    /// The demo user.
    package static var alice: User {
        User(
            name: "alice", password: "looking-glass", subject: "248289761001",
            claims: [
                "name": "Alice Liddell", "given_name": "Alice", "family_name": "Liddell",
                "preferred_username": "alice", "locale": "en-GB", "zoneinfo": "Europe/London",
                "email": "alice@example.com", "email_verified": true,
                "phone_number": "+44 1865 000000", "phone_number_verified": false,
                "address": ["locality": "Oxford", "country": "United Kingdom"],
                "updated_at": 1_735_689_600,
            ])
    }
}
