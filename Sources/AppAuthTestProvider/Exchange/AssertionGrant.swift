internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The grant for a signed assertion of a trusted issuer (RFC 7523 §2.1, §3).
struct AssertionGrant {
    let context: Context

    static let longestLifetime = 300
    /// The type of an assertion about a user of an identity provider (draft-ietf-oauth-identity-assertion-authz-grant §3).
    static let identityAssertion = "oauth-id-jag+jwt"
    private static let leeway = 60

    func issue(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let text = form["assertion"] else { throw OAuthFailure.invalidRequest("expected an assertion") }
        let user = try subject(of: text, form, client)
        let wanted = (form["scope"] ?? "").split(separator: " ").map(String.init)
        let scopes = Metadata.scopes.filter { wanted.contains($0) && $0 != "offline_access" }
        let grant = try Grant(direct: client, subject: user.subject, scopes: scopes, form, context)
        let issuer = TokenIssuer(context: context)
        return try issuer.respond(context.store.withLock { try issuer.issue(grant, to: client, in: &$0) }, to: client)
    }

    private func subject(
        of text: String, _ form: Parameters, _ client: RegisteredClient
    ) throws(OAuthFailure) -> User {
        guard let jws = try? JWS(compact: text), let claims = try? JSON(parsing: jws.payload),
            let identifier = claims["iss"]?.string
        else { throw .invalidGrant("expected a signed JWT with iss") }
        guard let issuer = context.configuration.assertionIssuers.first(where: { $0.identifier == identifier }),
            issuer.signed(jws)
        else { throw .invalidGrant("the assertion is not signed by a trusted issuer") }
        // draft-ietf-oauth-identity-assertion-authz-grant §4.4.1.
        if jws.header.typ == Self.identityAssertion {
            guard claims["client_id"]?.string == client.id else {
                throw .invalidGrant("the assertion is for another client")
            }
            guard form.values("resource").allSatisfy({ $0 == claims["resource"]?.string }) else {
                throw .invalidGrant("the assertion is for another resource")
            }
        }
        // §3 items 3, 4, 6, 7.
        let audience = claims["aud"]?.strings ?? claims["aud"]?.string.map { [$0] } ?? []
        guard audience.contains(context.issuer.identifier) || audience.contains(context.issuer.url(.token)) else {
            throw .invalidGrant("expected aud to be the issuer or the token endpoint")
        }
        let now = context.now.seconds
        guard let expiry = claims["exp"]?.int, expiry > now, expiry <= now + Self.longestLifetime else {
            throw .invalidGrant("expected exp within the next \(Self.longestLifetime) s")
        }
        for name in ["iat", "nbf"] {
            guard let value = claims[name] else { continue }
            guard let time = value.int, time <= now + Self.leeway else {
                throw .invalidGrant("expected \(name) not to be in the future")
            }
        }
        guard let subject = claims["sub"]?.string, let user = context.user(subject: subject) else {
            throw .invalidGrant("expected sub to be a user with an account")
        }
        guard let jti = claims["jti"]?.string else { return user }
        let isNew = context.store.withLock { records in
            records.assertions.updateValue(context.now.adding(Self.longestLifetime), forKey: "\(identifier) \(jti)")
                == nil
        }
        guard isNew else { throw .invalidGrant("the assertion was used before") }
        return user
    }
}
