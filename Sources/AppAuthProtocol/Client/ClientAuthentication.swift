internal import FoundationEssentials
internal import HTTPTypes

/// How the client proves who it is at the token endpoint and its siblings (RFC 6749 §2.3, OpenID Connect Core §9).
public enum ClientAuthentication: Sendable, Hashable {
    /// A public client: it only names itself. Right for an app that people install, since a secret in it is none
    /// (RFC 8252 §8.5); PKCE protects its codes.
    case none
    /// HTTP Basic with id and secret, each form-encoded first (RFC 6749 §2.3.1).
    case clientSecretBasic(Secret)
    /// Id and secret in the form body (RFC 6749 §2.3.1): for servers that do not know the other.
    case clientSecretPost(Secret)

    /// A statement signed with the secret (OpenID Connect Core §9): the secret itself is not sent.
    case clientSecretJWT(Secret, Assertion = .init())
    /// A statement signed with a private key (OpenID Connect Core §9, RFC 7523 §2.2). ``Environment/clientKey`` finds the
    /// key by its name, which stands in the stored session in its place.
    case privateKeyJWT(keyNamed: String, Assertion = .init())

    /// A certificate on the connection itself, which an authority vouches for (RFC 8705 §2.1). The transport shows it; it
    /// is used with the provider's endpoints for that (§5).
    case tlsClientAuth
    /// As ``tlsClientAuth``, with a certificate of the client's own making that is registered for it (RFC 8705 §2.2).
    case selfSignedTLSClientAuth

    /// What a signed statement says beyond what it has to.
    public struct Assertion: Sendable, Hashable {
        /// Who it is meant for.
        public var audience: Audience

        /// Meant for the provider's issuer, or for what the provider wants to find there.
        public init(audience: Audience = .issuer) { self.audience = audience }
    }

    /// Who a signed statement says that it is meant for (RFC 7523 §3 item 3).
    public enum Audience: Sendable, Hashable {
        /// The provider's issuer, which names one provider alone (RFC 9126 §2, FAPI 2.0 Security Profile §5.3.3.1).
        case issuer
        /// The URL of the token endpoint, at whichever endpoint the client authenticates (OpenID Connect Core §9): the only
        /// audience that several servers take. Not with several providers, of which one could name another's endpoint as
        /// its own.
        case tokenEndpoint
        /// The URL of the endpoint that it is sent to, whichever that is. Not with several providers, as above.
        case endpoint
        /// Somebody else.
        case other(String)
    }

    /// The method by its registered name (OpenID Connect Core §9).
    public var method: String {
        switch self {
        case .none: "none"
        case .clientSecretBasic: "client_secret_basic"
        case .clientSecretPost: "client_secret_post"
        case .clientSecretJWT: "client_secret_jwt"
        case .privateKeyJWT: "private_key_jwt"
        case .tlsClientAuth: "tls_client_auth"
        case .selfSignedTLSClientAuth: "self_signed_tls_client_auth"
        }
    }

    /// The client secret, if there is one.
    public var secret: Secret? {
        switch self {
        case .none, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth: nil
        case .clientSecretBasic(let secret), .clientSecretPost(let secret), .clientSecretJWT(let secret, _): secret
        }
    }

    /// The likeliest method for what the client has: by the key if the provider knows that, else by the secret as
    /// ``secret(_:for:)`` has it.
    ///
    /// The metadata lists what the provider can do with any client, and not what this one is registered for: where that is
    /// known it counts, as in ``ClientRegistration/client(at:keyNamed:)``.
    public static func best(
        for provider: ProviderMetadata, secret: Secret? = nil, keyNamed name: String? = nil
    ) -> ClientAuthentication {
        let methods = provider.tokenEndpointAuthMethods ?? ["client_secret_basic"]
        if let name, secret == nil || methods.contains("private_key_jwt") { return .privateKeyJWT(keyNamed: name) }
        guard let secret else { return .none }
        return Self.secret(secret, for: provider)
    }

    /// Authentication with a secret by the method that the provider supports: Basic, unless it lists others alone; then in
    /// the body, then by a signature. Where it lists none it knows Basic (OpenID Connect Discovery §3).
    public static func secret(_ secret: Secret, for provider: ProviderMetadata) -> ClientAuthentication {
        let methods = provider.tokenEndpointAuthMethods ?? ["client_secret_basic"]
        if methods.contains("client_secret_basic") { return .clientSecretBasic(secret) }
        if methods.contains("client_secret_post") { return .clientSecretPost(secret) }
        return methods.contains("client_secret_jwt") ? .clientSecretJWT(secret) : .clientSecretBasic(secret)
    }
}

extension Client {
    /// Adds to a request what the client's method needs.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the key is not there or does not fit.
    func authenticate(
        _ form: inout FormParameters, _ fields: inout HTTPFields, at url: SecureURL, in environment: Environment
    ) async throws {
        let algorithms = provider.tokenEndpointAuthSigningAlgorithms
        func assertion(_ assertion: ClientAuthentication.Assertion) throws -> ClientAssertion {
            let audience =
                switch assertion.audience {
                case .issuer: provider.issuer.string
                case .tokenEndpoint: try provider.require(.token).string
                case .endpoint: url.string
                case .other(let name): name
                }
            return ClientAssertion(clientID: id, audience: audience, environment: environment)
        }
        switch authentication {
        // RFC 8705 §2: the certificate says who it is only together with the id.
        case .none, .tlsClientAuth, .selfSignedTLSClientAuth: form.set("client_id", id)
        case .clientSecretBasic(let secret):
            let pair = FormParameters.encode(id) + ":" + FormParameters.encode(secret.reveal())
            fields[.authorization] = "Basic " + Data(pair.utf8).base64EncodedString()
        case .clientSecretPost(let secret):
            form.set("client_id", id)
            form.append("client_secret", secret.reveal())
        case .clientSecretJWT(let secret, let options):
            form.set("client_id", id)
            form.append("client_assertion_type", ClientAssertion.type)
            form.append("client_assertion", try assertion(options).signed(by: secret, algorithms: algorithms))
        case .privateKeyJWT(let name, let options):
            let key = try await environment.clientKey(name)
            form.set("client_id", id)
            form.append("client_assertion_type", ClientAssertion.type)
            form.append("client_assertion", try assertion(options).signed(by: key, algorithms: algorithms))
        }
    }
}
