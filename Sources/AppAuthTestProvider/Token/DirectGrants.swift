internal import AppAuthConcurrency
internal import JOSE
internal import FoundationEssentials

/// The grant of a client for itself (RFC 6749 §4.4): without user, refresh token (§4.4.3) and ID token.
struct ClientCredentialsGrant {
    let context: Context

    func issue(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        // RFC 6749 §4.4: MUST only be used by confidential clients.
        guard !client.isPublic else { throw OAuthFailure("unauthorized_client", "expected a confidential client") }
        let wanted = (form["scope"] ?? "").split(separator: " ").map(String.init)
        guard wanted.allSatisfy({ $0 == "api" }) else {
            throw OAuthFailure("invalid_scope", "expected only the scope api: the others are about a user")
        }
        let grant = try Grant(direct: client, subject: nil, scopes: wanted, form, context)
        let issuer = TokenIssuer(context: context)
        return try issuer.respond(context.store.withLock { try issuer.issue(grant, to: client, in: &$0) }, to: client)
    }
}

/// The grant for a user's name and password (RFC 6749 §4.3). RFC 9700 §2.4 forbids it, but old systems use it.
struct PasswordGrant {
    let context: Context
    /// The parameter with the user's name.
    var nameParameter = "username"

    func issue(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let name = form[nameParameter], let password = form["password"] else {
            throw OAuthFailure.invalidRequest("expected a \(nameParameter) and a password")
        }
        guard let user = context.user(name: name, password: password) else {
            throw OAuthFailure.invalidGrant("the name and the password do not belong together")
        }
        let wanted = (form["scope"] ?? "").split(separator: " ").map(String.init)
        let scopes = Metadata.scopes.filter(wanted.contains)
        let grant = try Grant(direct: client, subject: user.subject, scopes: scopes, form, context)
        let issuer = TokenIssuer(context: context)
        return try issuer.respond(context.store.withLock { try issuer.issue(grant, to: client, in: &$0) }, to: client)
    }
}

extension Grant {
    /// Creates a grant without a browser.
    init(
        direct client: RegisteredClient, subject: String?, scopes: [String], _ form: Parameters, _ context: Context
    ) throws {
        self.init(
            id: try OpaqueToken.make(), clientID: client.id, subject: subject, scopes: scopes,
            authTime: subject == nil ? nil : context.now, acr: subject == nil ? nil : Metadata.acr, nonce: nil,
            claims: .none,
            resources: try ResourceIndicators.check(form, context),
            authorizationDetails: try AuthorizationDetails.check(form, context))
    }
}
