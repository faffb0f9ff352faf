internal import JOSE

/// An ID token that this provider made some time ago, shown again by a client: at the authorization endpoint
/// (OpenID Connect Core §3.1.2.1) or at the end-session endpoint (RP-Initiated Logout §2).
struct IDTokenHint: Sendable {
    let subject: String
    let audience: [String]

    /// nil unless one of the provider's keys signed it and the provider is its issuer. That it has expired does not
    /// count (RP-Initiated Logout §4).
    init?(_ token: String, _ context: Context) {
        guard let jws = try? JWS(compact: token), context.keys.verifies(jws),
            let claims = try? JSON(parsing: jws.payload), claims["iss"]?.string == context.issuer.identifier,
            let subject = claims["sub"]?.string,
            let audience = claims["aud"]?.strings ?? claims["aud"]?.string.map({ [$0] })
        else { return nil }
        (self.subject, self.audience) = (subject, audience)
    }
}
