internal import FoundationEssentials
internal import HTTPTypes

/// How the client authenticates at the token endpoint and similar endpoints (RFC 6749 §2.3, OpenID Connect Core §9).
public enum ClientAuthentication: Sendable, Hashable {
    /// A public client, which sends only its ID. Use it for an installed app, where a secret would not stay secret
    /// (RFC 8252 §8.5). PKCE protects its codes.
    case none
    /// HTTP Basic with ID and secret, each form-encoded first (RFC 6749 §2.3.1).
    case clientSecretBasic(Secret)
    /// ID and secret in the form body (RFC 6749 §2.3.1), for servers that do not support HTTP Basic.
    case clientSecretPost(Secret)

    /// A JWT signed with the secret (OpenID Connect Core §9). The secret itself is not sent.
    case clientSecretJWT(Secret, audience: Audience = .issuer)
    /// A JWT signed with a private key (OpenID Connect Core §9, RFC 7523 §2.2). ``Environment/clientKey`` finds the key
    /// by its name. The stored session holds only the name.
    case privateKeyJWT(keyNamed: String, audience: Audience = .issuer)

    /// A JWT from elsewhere, for example from the platform on which a service runs (RFC 7521 §4.2, RFC 7523 §2.2).
    /// ``Environment/clientAssertion`` returns it for each request, by its name. The stored session holds only the name.
    case assertion(named: String)

    /// A certificate of the TLS connection that a certificate authority issued (RFC 8705 §2.1). The transport presents
    /// it to the provider's endpoints for mutual TLS (§5).
    case tlsClientAuth
    /// As ``tlsClientAuth``, with a self-signed certificate that is registered for the client (RFC 8705 §2.2).
    case selfSignedTLSClientAuth

    /// The audience of a client assertion (RFC 7523 §3 item 3).
    public enum Audience: Sendable, Hashable {
        /// The provider's issuer, which identifies only this provider (RFC 9126 §2, FAPI 2.0 Security Profile
        /// §5.3.3.1).
        case issuer
        /// The URL of the token endpoint, regardless of the endpoint at which the client authenticates (OpenID Connect Core §9).
        /// Several servers accept no other audience. Do not use it with several providers: one of them could name
        /// another's endpoint as its own.
        case tokenEndpoint
        /// The URL of the endpoint that receives the assertion. Do not use it with several providers, as above.
        case endpoint
        /// Another audience.
        case other(String)
    }

    /// The method's registered name (OpenID Connect Core §9); `client_assertion` for ``assertion(named:)``, which has
    /// none.
    public var method: String {
        switch self {
        case .none: "none"
        case .clientSecretBasic: "client_secret_basic"
        case .clientSecretPost: "client_secret_post"
        case .clientSecretJWT: "client_secret_jwt"
        case .privateKeyJWT: "private_key_jwt"
        case .assertion: "client_assertion"
        case .tlsClientAuth: "tls_client_auth"
        case .selfSignedTLSClientAuth: "self_signed_tls_client_auth"
        }
    }

    /// The client secret, if there is one.
    public var secret: Secret? {
        switch self {
        case .none, .privateKeyJWT, .assertion, .tlsClientAuth, .selfSignedTLSClientAuth: nil
        case .clientSecretBasic(let secret), .clientSecretPost(let secret), .clientSecretJWT(let secret, _): secret
        }
    }

    /// Returns the authentication with a secret that the provider supports: Basic, unless the provider lists only
    /// others; then the form body, then a signature. A provider without a list supports Basic (OpenID Connect
    /// Discovery §3). The list is of what the provider supports for any client, not of what is registered for this one.
    public static func secret(_ secret: Secret, for provider: ProviderMetadata) -> ClientAuthentication {
        let methods = provider.tokenEndpointAuthMethods ?? ["client_secret_basic"]
        if methods.contains("client_secret_basic") { return .clientSecretBasic(secret) }
        if methods.contains("client_secret_post") { return .clientSecretPost(secret) }
        return methods.contains("client_secret_jwt") ? .clientSecretJWT(secret) : .clientSecretBasic(secret)
    }
}

extension Client {
    /// Adds the client's authentication to a request.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the key is missing or does not fit.
    func authenticate(
        _ form: inout FormParameters, _ fields: inout HTTPFields, at url: SecureURL, in environment: Environment
    ) async throws {
        let algorithms = provider.tokenEndpointAuthSigningAlgorithms
        func present(_ assertion: String) {
            form.set("client_id", id)
            form.append("client_assertion_type", ClientAssertion.type)
            form.append("client_assertion", assertion)
        }
        func assertion(for audience: ClientAuthentication.Audience) throws -> ClientAssertion {
            let audience =
                switch audience {
                case .issuer: provider.issuer.string
                case .tokenEndpoint: try provider.require(.token).string
                case .endpoint: url.string
                case .other(let name): name
                }
            return ClientAssertion(clientID: id, audience: audience, date: environment.time(of: self).date)
        }
        switch authentication {
        // RFC 8705 §2: the certificate identifies the client only together with its ID.
        case .none, .tlsClientAuth, .selfSignedTLSClientAuth: form.set("client_id", id)
        case .clientSecretBasic(let secret):
            let pair = FormParameters.encode(id) + ":" + FormParameters.encode(secret.reveal())
            fields[.authorization] = "Basic " + Data(pair.utf8).base64EncodedString()
        case .clientSecretPost(let secret):
            form.set("client_id", id)
            form.append("client_secret", secret.reveal())
        case .clientSecretJWT(let secret, let audience):
            present(try assertion(for: audience).signed(by: secret, algorithms: algorithms))
        case .privateKeyJWT(let name, let audience):
            let key = try await environment.clientKey(name)
            present(try await assertion(for: audience).signed(by: key, algorithms: algorithms))
        case .assertion(let name): present(try await environment.clientAssertion(name).reveal())
        }
    }
}
