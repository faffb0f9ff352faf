internal import JOSE

/// An earlier ID token of this provider that a client presents at the authorization endpoint (OpenID Connect Core
/// §3.1.2.1) or at the end-session endpoint (RP-Initiated Logout §2).
struct IDTokenHint: Sendable {
    let subject: String
    let audience: [String]

    /// Parses a token; nil unless one of the provider's keys signed it and the provider is its issuer. It may have
    /// expired (RP-Initiated Logout §4).
    init?(_ token: String, _ context: Context) {
        guard let jws = try? JWS(compact: token), context.keys.verifies(jws),
            let claims = try? JSON(parsing: jws.payload), claims["iss"]?.string == context.issuer.identifier,
            let subject = claims["sub"]?.string,
            let audience = claims["aud"]?.strings ?? claims["aud"]?.string.map({ [$0] })
        else { return nil }
        (self.subject, self.audience) = (subject, audience)
    }
}
