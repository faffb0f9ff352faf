internal import AppAuthConcurrency
internal import FoundationEssentials
internal import JOSE

/// The grant that exchanges a token of this provider for another (RFC 8693).
struct TokenExchangeGrant {
    let context: Context

    func exchange(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        // §2.1 does not restrict the clients further. A public client could be anyone.
        guard !client.isPublic else { throw OAuthFailure("unauthorized_client", "expected a confidential client") }
        let presented = PresentedTokens(context: context)
        guard let subject = try presented.token("subject", form, client) else {
            throw OAuthFailure.invalidRequest("expected a subject_token")
        }
        if form["requested_token_type"] == PresentedTokens.identityAssertion {
            return try identityAssertion(subject, form)
        }
        let actor = try presented.token("actor", form, client)
        let audience = try audience(form)
        let kind = form["requested_token_type"] ?? PresentedTokens.accessToken
        let grant = Grant(
            id: try OpaqueToken.make(), clientID: client.id, subject: subject.subject,
            scopes: try scopes(form["scope"], of: subject), authTime: subject.authTime, acr: subject.acr, nonce: nil,
            claims: .none, resources: try ResourceIndicators.check(form, context) + audience,
            actor: actor?.subject ?? actor?.clientID)
        switch kind {
        case PresentedTokens.accessToken: return try accessToken(grant, client)
        case PresentedTokens.jwt: return try statement(grant, audience, client)
        default: throw OAuthFailure.invalidRequest("the requested_token_type is not supported")
        }
    }

    private func accessToken(_ grant: Grant, _ client: RegisteredClient) throws -> TokenReply {
        let issuer = TokenIssuer(context: context)
        let issued = try context.store.withLock { try issuer.issue(grant, to: client, in: &$0) }
        var response = try issuer.respond(issued, to: client)
        response.issuedTokenType = PresentedTokens.accessToken
        return response
    }

    /// Issues a signed statement about the subject for another party. It is not an access token of this provider.
    private func statement(_ grant: Grant, _ audience: [String], _ client: RegisteredClient) throws -> TokenReply {
        let (now, lifetime) = (context.now, context.configuration.idTokenLifetime)
        var claims: JSON.Object = [
            "iss": .string(context.issuer.identifier), "client_id": .string(client.id),
            "iat": .number(.init(now.seconds)), "exp": .number(.init(now.adding(lifetime).seconds)),
            "jti": .string(try OpaqueToken.make()), "scope": .string(grant.scopes.joined(separator: " ")),
        ]
        claims["sub"] = .string(grant.subject ?? client.id)
        claims["aud"] = .array(
            (grant.resources.isEmpty ? [context.issuer.identifier] : grant.resources).map(JSON.string))
        // §4.1: the acting party.
        claims["act"] = grant.actor.map { ["sub": .string($0)] }
        let (key, kid) = try context.keys.signing(context.configuration.idTokenAlgorithm)
        // §2.2.1: N_A is the type of a token that is not an access token.
        var response = TokenReply(
            accessToken: try JWS.sign(.object(claims), header: ["kid": .string(kid), "typ": "JWT"], with: key),
            tokenType: "N_A", expiresIn: lifetime, scopes: grant.scopes, authorizationDetails: [],
            refreshToken: nil, idToken: nil)
        response.issuedTokenType = PresentedTokens.jwt
        return response
    }

    /// Issues a statement about the user for another authorization server
    /// (draft-ietf-oauth-identity-assertion-authz-grant §3, §4.3).
    private func identityAssertion(_ subject: PresentedTokens.Token, _ form: Parameters) throws -> TokenReply {
        guard let client = context.configuration.clientOfIdentityAssertions else {
            throw OAuthFailure.invalidRequest("the requested_token_type is not supported")
        }
        guard form["subject_token_type"] == PresentedTokens.idToken, let user = subject.subject else {
            throw OAuthFailure.invalidRequest("expected an ID token")
        }
        guard form.values("audience").count == 1, let audience = form["audience"], let resource = form["resource"]
        else {
            throw OAuthFailure.invalidRequest("expected one audience and a resource")
        }
        let (now, lifetime) = (context.now, AssertionGrant.longestLifetime)
        let claims: JSON = [
            "iss": .string(context.issuer.identifier), "sub": .string(user), "aud": .string(audience),
            "client_id": .string(client), "resource": .string(resource), "jti": .string(try OpaqueToken.make()),
            "iat": .number(.init(now.seconds)), "exp": .number(.init(now.adding(lifetime).seconds)),
        ]
        let (key, kid) = try context.keys.signing(context.configuration.idTokenAlgorithm)
        let header: JSON.Object = ["kid": .string(kid), "typ": .string(AssertionGrant.identityAssertion)]
        var response = TokenReply(
            accessToken: try JWS.sign(claims, header: header, with: key), tokenType: "N_A", expiresIn: lifetime,
            scopes: [], authorizationDetails: [], refreshToken: nil, idToken: nil)
        response.issuedTokenType = PresentedTokens.identityAssertion
        return response
    }

    /// Returns the clients for which the token is intended. Each must be registered.
    private func audience(_ form: Parameters) throws(OAuthFailure) -> [String] {
        let names = form.values("audience").filter { !$0.isEmpty }
        for name in names where context.client(name) == nil {
            throw OAuthFailure("invalid_target", "an audience is not a registered client")
        }
        return names
    }

    /// Returns the scopes for the new token: at most those of the subject's token, and none that leads to further
    /// tokens.
    private func scopes(_ wanted: String?, of subject: PresentedTokens.Token) throws(OAuthFailure) -> [String] {
        let granted = subject.scopes.filter { $0 != "offline_access" && $0 != "openid" }
        guard let wanted = wanted?.split(separator: " ").map(String.init) else { return granted }
        guard Set(wanted).isSubset(of: granted) else {
            throw OAuthFailure("invalid_scope", "the scope exceeds that of the subject_token")
        }
        return granted.filter(wanted.contains)
    }
}

/// The tokens that a client presents for an exchange.
struct PresentedTokens {
    let context: Context

    static let accessToken = "urn:ietf:params:oauth:token-type:access_token"
    static let jwt = "urn:ietf:params:oauth:token-type:jwt"
    private static let refreshToken = "urn:ietf:params:oauth:token-type:refresh_token"
    static let identityAssertion = "urn:ietf:params:oauth:token-type:id-jag"
    static let idToken = "urn:ietf:params:oauth:token-type:id_token"

    /// The content of a valid token.
    struct Token {
        let clientID: String
        /// The user; nil if a client acts for itself.
        let subject: String?
        let scopes: [String]
        let authTime: Date?
        let acr: String?
    }

    /// - Parameter role: `subject` or `actor`.
    /// - Returns: The token; nil if there is none.
    func token(_ role: String, _ form: Parameters, _ client: RegisteredClient) throws(OAuthFailure) -> Token? {
        let (value, type) = (form["\(role)_token"], form["\(role)_token_type"])
        // §2.1: the type is REQUIRED with the token, and MUST NOT be included without it.
        guard (value == nil) == (type == nil) else {
            throw .invalidRequest("expected \(role)_token and \(role)_token_type together")
        }
        guard let value, let type else { return nil }
        guard let token = try known(value, type, client) else {
            throw .invalidRequest("the \(role)_token is not accepted here")
        }
        return token
    }

    private func known(_ value: String, _ type: String, _ client: RegisteredClient) throws(OAuthFailure) -> Token? {
        let now = context.now
        switch type {
        case Self.accessToken:
            return context.store.withLock { $0.access(value, now) }.map { found in
                Token(
                    clientID: found.grant.clientID, subject: found.grant.subject, scopes: found.token.scopes,
                    authTime: found.grant.authTime, acr: found.grant.acr)
            }
        case Self.refreshToken:
            // Only its own client has a refresh token.
            return context.store.withLock { records in
                guard let token = records.refreshTokens[value], token.rotatedAt == nil, token.expiresAt > now,
                    let grant = records.grants[token.grantID], grant.clientID == client.id
                else { return nil }
                return Token(
                    clientID: grant.clientID, subject: grant.subject, scopes: grant.scopes, authTime: grant.authTime,
                    acr: grant.acr)
            }
        case Self.idToken:
            guard let hint = IDTokenHint(value, context), let jws = try? JWS(compact: value),
                let expiry = (try? JSON(parsing: jws.payload))?["exp"]?.int, expiry > now.seconds
            else { return nil }
            // An ID token identifies a user, and authorizes nothing.
            return Token(
                clientID: hint.audience.first ?? "", subject: hint.subject, scopes: ["profile", "email"],
                authTime: nil, acr: nil)
        default: throw .invalidRequest("the token type is not supported")
        }
    }
}
