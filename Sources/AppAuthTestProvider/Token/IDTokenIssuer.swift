internal import FoundationEssentials
internal import JOSE

/// The issuer of ID tokens (OpenID Connect Core §2).
struct IDTokenIssuer {
    let context: Context

    /// Returns the ID token that comes with an access token (Core §3.1.3.6).
    func token(_ issued: IssuedTokens, _ client: RegisteredClient) throws -> String {
        let (grant, algorithm) = (issued.grant, algorithm(for: client))
        var claims = claims(of: grant, for: client)
        claims["sid"] = grant.sessionID.map(JSON.string)
        claims["nonce"] = issued.nonce.map(JSON.string)
        claims["at_hash"] = Self.hash(issued.accessToken, algorithm).map(JSON.string)
        guard let user = grant.subject.flatMap(context.user) else { return try signed(claims, for: client) }
        let wanted = context.configuration.putsUserClaimsInIDToken ? user.claims(for: grant.scopes).members : []
        for member in wanted { claims[member.name] = member.value }
        for name in grant.claims.idToken where claims[name] == nil { claims[name] = user.claims[name] }
        return try signed(claims, for: client)
    }

    func algorithm(for client: RegisteredClient) -> SignatureAlgorithm {
        client.idTokenAlgorithm ?? context.configuration.idTokenAlgorithm
    }

    /// Returns the signed token, encrypted if the client requires it (Core §16.14).
    func signed(_ claims: JSON.Object, for client: RegisteredClient) throws -> String {
        let algorithm = algorithm(for: client)
        var header = JSON.Object()
        header["kid"] = .string(try context.keys.signing(algorithm).kid)
        header["typ"] = "JWT"
        var draft = JWTDraft(header: header, claims: claims, signature: .key(algorithm))
        for case .editIDToken(let edit) in context.faults { edit(&draft) }
        let token = try draft.serialized(context.keys)
        return try client.idTokenEncryption?.encrypted(token: token) ?? token
    }

    /// Returns the common claims of a grant's ID tokens.
    func claims(of grant: Grant, for client: RegisteredClient) -> JSON.Object {
        let now = context.now
        var claims = JSON.Object()
        let tenant = context.configuration.tenant
        claims["iss"] = .string(tenant.map(context.issuer.issuer(of:)) ?? context.issuer.identifier)
        claims["tid"] = tenant.map(JSON.string)
        claims["sub"] = grant.subject.map(JSON.string)
        claims["aud"] = .string(client.id)
        if context.configuration.namesAuthorizedParty { claims["azp"] = .string(client.id) }
        claims["exp"] = .number(.init(now.adding(context.configuration.idTokenLifetime).seconds))
        claims["iat"] = .number(.init(now.seconds))
        claims["auth_time"] = grant.authTime.map { .number(.init($0.seconds)) }
        claims["acr"] = grant.acr.map(JSON.string)
        // RFC 8176 §2.
        claims["amr"] = ["pwd"]
        return claims
    }

    /// Returns the left half of the hash that the signature's algorithm uses (Core §3.1.3.6).
    static func hash(_ token: String, _ algorithm: SignatureAlgorithm) -> String? {
        algorithm.digest.map { Base64URL.encode(Array($0.hash(token).prefix($0.byteCount / 2))) }
    }
}
