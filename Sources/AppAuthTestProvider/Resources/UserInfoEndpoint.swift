internal import HTTPTypes
internal import JOSE

/// The userinfo endpoint (OpenID Connect Core §5.3).
struct UserInfoEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        guard request.method == .get || request.method == .post else { return .notAllowed("GET, POST") }
        do {
            return try claims(request)
        } catch let refusal as BearerToken.Refusal {
            return refusal.reply
        }
    }

    private func claims(_ request: Request) throws -> Reply {
        let (token, grant) = try BearerToken(context: context).access(request, resource: context.issuer.url(.userInfo))
        guard token.scopes.contains("openid"), let user = grant.subject.flatMap(context.user) else {
            throw BearerToken.Refusal(
                .forbidden, "insufficient_scope", "expected a token for the scope openid", [("scope", "openid")])
        }
        var claims = user.claims(for: token.scopes)
        for name in grant.claims.userInfo where claims[name] == nil { claims[name] = user.claims[name] }
        for member in try user.sources(context.issuer).members { claims[member.name] = member.value }
        // Core §5.3.2: sub is always present.
        claims["sub"] = .string(user.subject)
        let client = context.client(grant.clientID)
        let response = try client.flatMap { try jwt(claims, for: $0) }
        return response.map { Reply(.ok, type: "application/jwt", $0).notStored }
            ?? .json(context.edited(.object(claims))).notStored
    }

    /// Returns the claims signed, encrypted, or both (Core §5.3.2); nil for a client that accepts plain JSON.
    private func jwt(_ claims: JSON.Object, for client: RegisteredClient) throws -> String? {
        let signed = try client.userInfoAlgorithm.map { try self.signed(claims, for: client, $0) }
        guard let encryption = client.userInfoEncryption else { return signed }
        if let signed { return try encryption.encrypted(token: signed) }
        return try encryption.encrypted(claims: context.edited(.object(claims)))
    }

    /// Returns the signed claims with issuer and audience (Core §5.3.2).
    private func signed(
        _ claims: JSON.Object, for client: RegisteredClient, _ algorithm: SignatureAlgorithm
    ) throws -> String {
        var claims = claims
        claims["iss"] = .string(context.issuer.identifier)
        claims["aud"] = .string(client.id)
        let (key, kid) = try context.keys.signing(algorithm)
        var header = JSON.Object()
        header["kid"] = .string(kid)
        return try JWS.sign(context.edited(.object(claims)), header: header, with: key)
    }
}
