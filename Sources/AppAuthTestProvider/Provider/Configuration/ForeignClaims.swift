package import JOSE

/// Claims about a user that the provider has from another issuer (OpenID Connect Core §5.6.2).
package struct ForeignClaims: Sendable {
    /// The issuer of the claims.
    package var issuer: String
    package var key: SigningKey
    package var kid: String
    package var claims: JSON.Object
    /// Whether the claims are distributed, at an endpoint of their own (§5.6.2.2), or aggregated with the provider's
    /// own (§5.6.2.1).
    package var isDistributed: Bool
    /// The access token that the endpoint requires; nil if it requires none.
    package var accessToken: String?

    package init(
        _ claims: JSON.Object, by issuer: String, key: SigningKey, kid: String = "claims-1",
        isDistributed: Bool = false, accessToken: String? = nil
    ) {
        (self.claims, self.issuer, self.key, self.kid) = (claims, issuer, key, kid)
        (self.isDistributed, self.accessToken) = (isDistributed, accessToken)
    }

    var token: String {
        get throws {
            var payload = claims
            payload["iss"] = .string(issuer)
            return try JWS.sign(.object(payload), header: ["kid": .string(kid), "typ": "JWT"], with: key)
        }
    }
}
