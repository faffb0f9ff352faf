internal import FoundationEssentials
internal import JOSE

/// A trusted issuer's statement about a client's software (RFC 7591 §2.3).
struct SoftwareStatement {
    /// The metadata in the statement, without the claims about the token itself.
    let claims: JSON.Object

    private static let tokenClaims = ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]

    init(_ value: JSON, _ options: DynamicRegistration, _ now: Date) throws(OAuthFailure) {
        guard let text = value.string, let jws = try? JWS(compact: text),
            let claims = try? JSON(parsing: jws.payload).object, let issuer = claims["iss"]?.string
        else { throw Self.invalid("expected a signed JWT with iss") }
        // §3.2.2: a valid statement of an untrusted issuer is not approved.
        guard let trusted = options.statementIssuers.first(where: { $0.identifier == issuer }) else {
            throw OAuthFailure("unapproved_software_statement", "the issuer is not trusted")
        }
        guard trusted.signed(jws) else { throw Self.invalid("the signature is not the issuer's") }
        if let expiry = claims["exp"] {
            guard let seconds = expiry.int, seconds > now.seconds else { throw Self.invalid("it has expired") }
        }
        let metadata = claims.members.filter { !Self.tokenClaims.contains($0.name) }
        self.claims = JSON.Object(metadata.map { ($0.name, $0.value) })
    }

    private static func invalid(_ description: String) -> OAuthFailure {
        OAuthFailure("invalid_software_statement", description)
    }
}
