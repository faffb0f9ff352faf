internal import AppAuthConcurrency
internal import JOSE

/// A sign-in with another service's access token: an extension grant (RFC 6749 §4.5).
///
/// The parameters are those of the older SDK: `provider_name=facebook`, `access_token=<Facebook's access token>`. The
/// `grant_type=social` is the double's choice, and `scope` as in the password grant, with the client's own authentication. If Facebook does not know the
/// token, the error is `invalid_grant`.
struct SocialGrant {
    static let type = "social"

    let context: Context
    let facebook: Facebook

    func issue(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard form["provider_name"] == "facebook" else {
            throw OAuthFailure.invalidRequest("expected the provider_name facebook")
        }
        guard let token = form["access_token"] else {
            throw OAuthFailure.invalidRequest("expected an access_token")
        }
        guard constantTimeEqual(token, facebook.accessToken), let user = facebook.person(context) else {
            throw OAuthFailure.invalidGrant("the provider does not know the token")
        }
        let wanted = (form["scope"] ?? "").split(separator: " ").map(String.init)
        let grant = try Grant(
            direct: client, subject: user.subject, scopes: Metadata.scopes.filter(wanted.contains), form, context)
        let issuer = TokenIssuer(context: context)
        return try issuer.respond(context.store.withLock { try issuer.issue(grant, to: client, in: &$0) }, to: client)
    }
}
