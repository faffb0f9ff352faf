internal import HTTPTypes
internal import JOSE

/// The userinfo endpoint (OpenID Connect Core §5.3).
struct UserInfoEndpoint {
    let context: Context

    func answer(to request: Request) throws -> Reply {
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
        // Core §5.3.2: sub is always there.
        claims["sub"] = .string(user.subject)
        guard let client = context.client(grant.clientID), let algorithm = client.userInfoAlgorithm else {
            return .json(context.edited(.object(claims))).notStored
        }
        return try signed(claims, for: client, algorithm).notStored
    }

    /// Core §5.3.2: a signed answer names its issuer and its audience.
    private func signed(
        _ claims: JSON.Object, for client: RegisteredClient, _ algorithm: SignatureAlgorithm
    ) throws -> Reply {
        var claims = claims
        claims["iss"] = .string(context.issuer.identifier)
        claims["aud"] = .string(client.id)
        let (key, kid) = try context.keys.signing(algorithm)
        var header = JSON.Object()
        header["kid"] = .string(kid)
        let token = try JWS.sign(context.edited(.object(claims)), header: header, with: key)
        return Reply(.ok, type: "application/jwt", token)
    }
}
