package import JOSE

/// A client as the provider knows it (RFC 7591 §2 names the members).
package struct RegisteredClient: Sendable {
    package enum Authentication: String, Sendable, Hashable {
        case none
        case basic = "client_secret_basic"
        case post = "client_secret_post"
        case secretJWT = "client_secret_jwt"
        case privateKeyJWT = "private_key_jwt"
    }

    package var id: String
    /// nil for a public client, and for one that has keys.
    package var secret: String?
    /// The public keys of a client that signs (`jwks`).
    package var keys: [JWK]
    /// What the consent page calls it.
    package var name: String
    package var redirectURIs: [RedirectURI]
    package var postLogoutRedirectURIs: [RedirectURI]
    package var grantTypes: Set<String>
    /// How it may authenticate; a public client only by `none`.
    package var authentication: Set<Authentication>
    /// How long its access tokens are good, in seconds; nil for the provider's default.
    package var accessTokenLifetime: Int?
    /// Signs its ID tokens; nil for the provider's default.
    package var idTokenAlgorithm: SignatureAlgorithm?
    /// Signs its userinfo responses; nil for plain JSON (`userinfo_signed_response_alg`).
    package var userInfoAlgorithm: SignatureAlgorithm?
    /// Where logout tokens are posted (OpenID Connect Back-Channel Logout §2.2).
    package var backchannelLogoutURI: String?
    /// What is shown in a frame when somebody signs out (OpenID Connect Front-Channel Logout §2).
    package var frontchannelLogoutURI: String?
    /// Signs its authorization responses where it wants them signed (`authorization_signed_response_alg`).
    package var authorizationAlgorithm = SignatureAlgorithm.rs256
    /// Gets no tokens but those bound to a key (`dpop_bound_access_tokens`, RFC 9449 §5.2).
    package var requiresDPoP = false
    /// Gets no tokens but those bound to its certificate (`tls_client_certificate_bound_access_tokens`, RFC 8705 §3.4).
    package var bindsTokensToCertificate = false
    /// Encrypts its ID tokens, once they are signed (`id_token_encrypted_response_alg`).
    package var idTokenEncryption: ResponseEncryption?
    /// Encrypts its userinfo responses, signed or not (`userinfo_encrypted_response_alg`).
    package var userInfoEncryption: ResponseEncryption?

    package init(
        id: String, secret: String? = nil, keys: [JWK] = [], name: String? = nil, redirectURIs: [RedirectURI] = [],
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

    /// Whether one of its keys made the signature.
    func hasSigned(_ jws: JWS, _ algorithm: SignatureAlgorithm) -> Bool {
        keys.contains { key in
            (jws.header.kid == nil || key.kid == nil || jws.header.kid == key.kid) && key.fits(algorithm)
                && (try? VerificationKey(key)).map { jws.isSigned(by: $0, algorithm: algorithm) } ?? false
        }
    }
}
