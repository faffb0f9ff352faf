package import JOSE

/// A client's registration (RFC 7591 §2 names the members).
public struct RegisteredClient: Sendable {
    /// A way in which a client authenticates at the token endpoint (`token_endpoint_auth_method`).
    public enum Authentication: String, Sendable, Hashable {
        /// Not at all: a public client.
        case none
        /// By HTTP Basic authentication (RFC 6749 §2.3.1).
        case basic = "client_secret_basic"
        /// By parameters of the form (RFC 6749 §2.3.1).
        case post = "client_secret_post"
        /// By a JWT with a MAC of the secret (OpenID Connect Core §9).
        case secretJWT = "client_secret_jwt"
        /// By a signed JWT (RFC 7523 §2.2).
        case privateKeyJWT = "private_key_jwt"
    }

    /// The client ID (`client_id`).
    public var id: String
    /// The secret; nil for a public client, and for a client with keys.
    public var secret: String?
    /// The public keys of a client that signs (`jwks`).
    package var keys: [JWK]
    /// The name on the consent page.
    public var name: String
    /// The redirect URIs (`redirect_uris`).
    public var redirectURIs: [RedirectURI]
    /// The redirect URIs after a sign-out (`post_logout_redirect_uris`).
    public var postLogoutRedirectURIs: [RedirectURI]
    /// The grant types that the client may use (`grant_types`).
    public var grantTypes: Set<String>
    /// The methods by which the client may authenticate; for a public client only `none`.
    public var authentication: Set<Authentication>
    /// The lifetime of the client's access tokens in seconds; nil for the provider's default.
    public var accessTokenLifetime: Int?
    /// The algorithm that signs its ID tokens; nil for the provider's default.
    package var idTokenAlgorithm: SignatureAlgorithm?
    /// The algorithm that signs its userinfo responses; nil for plain JSON (`userinfo_signed_response_alg`).
    package var userInfoAlgorithm: SignatureAlgorithm?
    /// The URL to which logout tokens are posted (OpenID Connect Back-Channel Logout §2.2).
    package var backchannelLogoutURI: String?
    /// The URL that is shown in a frame when the user signs out (OpenID Connect Front-Channel Logout §2).
    package var frontchannelLogoutURI: String?
    /// The algorithm that signs its authorization responses, if it requests signed ones
    /// (`authorization_signed_response_alg`).
    package var authorizationAlgorithm = SignatureAlgorithm.rs256
    /// Whether the client gets only tokens that are bound to a key (`dpop_bound_access_tokens`, RFC 9449 §5.2).
    public var requiresDPoP = false
    /// Whether the client's tokens are bound to its certificate (`tls_client_certificate_bound_access_tokens`,
    /// RFC 8705 §3.4).
    package var bindsTokensToCertificate = false
    /// The encryption of its ID tokens, after they are signed (`id_token_encrypted_response_alg`).
    package var idTokenEncryption: ResponseEncryption?
    /// The encryption of its userinfo responses, signed or not (`userinfo_encrypted_response_alg`).
    package var userInfoEncryption: ResponseEncryption?

    /// Creates a registration.
    ///
    /// - Parameters:
    ///   - secret: The secret; nil for a public client.
    ///   - name: The name on the consent page; by default the ID.
    ///   - redirectURIs: The redirect URIs, for example `[.anyLoopback]`.
    ///   - postLogoutRedirectURIs: The redirect URIs after a sign-out; by default those of the sign-in.
    ///   - authentication: The methods by which the client may authenticate; by default all that it has the secret for.
    public init(
        id: String, secret: String? = nil, name: String? = nil, redirectURIs: [RedirectURI] = [],
        postLogoutRedirectURIs: [RedirectURI]? = nil,
        grantTypes: Set<String> = ["authorization_code", "refresh_token"], authentication: Set<Authentication>? = nil
    ) {
        self.init(
            id: id, secret: secret, keys: [], name: name, redirectURIs: redirectURIs,
            postLogoutRedirectURIs: postLogoutRedirectURIs, grantTypes: grantTypes, authentication: authentication)
    }

    package init(
        id: String, secret: String? = nil, keys: [JWK], name: String? = nil, redirectURIs: [RedirectURI] = [],
        postLogoutRedirectURIs: [RedirectURI]? = nil,
        grantTypes: Set<String> = ["authorization_code", "refresh_token"], authentication: Set<Authentication>? = nil
    ) {
        (self.id, self.secret, self.keys, self.name) = (id, secret, keys, name ?? id)
        (self.redirectURIs, self.grantTypes) = (redirectURIs, grantTypes)
        self.postLogoutRedirectURIs = postLogoutRedirectURIs ?? redirectURIs
        self.authentication = authentication ?? Self.authentication(secret, keys)
    }

    private static func authentication(_ secret: String?, _ keys: [JWK]) -> Set<Authentication> {
        if !keys.isEmpty { return [.privateKeyJWT] }
        return secret == nil ? [.none] : [.basic, .post, .secretJWT]
    }

    var isPublic: Bool { secret == nil && keys.isEmpty }

    /// Returns whether one of the client's keys made the signature.
    func hasSigned(_ jws: JWS, _ algorithm: SignatureAlgorithm) -> Bool {
        keys.contains { key in
            (jws.header.kid == nil || key.kid == nil || jws.header.kid == key.kid) && key.fits(algorithm)
                && (try? VerificationKey(key)).map { jws.isSigned(by: $0, algorithm: algorithm) } ?? false
        }
    }
}
