internal import FoundationEssentials
internal import JOSE

/// Makes ID tokens (OpenID Connect Core §2).
struct IDTokenIssuer {
    let context: Context

    func token(_ issued: IssuedTokens, _ client: RegisteredClient) throws -> String {
        let algorithm = client.idTokenAlgorithm ?? context.configuration.idTokenAlgorithm
        var header = JSON.Object()
        header["kid"] = .string(try context.keys.signing(algorithm).kid)
        header["typ"] = "JWT"
        var draft = JWTDraft(
            header: header, claims: claims(issued, client, algorithm), signature: .key(algorithm))
        for case .editIDToken(let edit) in context.faults { edit(&draft) }
        return try draft.serialized(context.keys)
    }

    private func claims(
        _ issued: IssuedTokens, _ client: RegisteredClient, _ algorithm: SignatureAlgorithm
    ) -> JSON.Object {
        let (grant, now) = (issued.grant, context.now)
        var claims = JSON.Object()
        claims["iss"] = .string(context.issuer.identifier)
        claims["sub"] = grant.subject.map(JSON.string)
        claims["aud"] = .string(client.id)
        if context.configuration.namesAuthorizedParty { claims["azp"] = .string(client.id) }
        claims["exp"] = .number(.init(now.adding(context.configuration.idTokenLifetime).seconds))
        claims["iat"] = .number(.init(now.seconds))
        claims["auth_time"] = grant.authTime.map { .number(.init($0.seconds)) }
        claims["nonce"] = issued.nonce.map(JSON.string)
        claims["acr"] = .string(Metadata.acr)
        // RFC 8176 §2.
        claims["amr"] = ["pwd"]
        claims["at_hash"] = .string(Self.hash(issued.accessToken, algorithm))
        guard let user = grant.subject.flatMap(context.user) else { return claims }
        let wanted = context.configuration.putsUserClaimsInIDToken ? user.claims(for: grant.scopes).members : []
        for member in wanted { claims[member.name] = member.value }
        for name in grant.claims.idToken where claims[name] == nil { claims[name] = user.claims[name] }
        return claims
    }

    /// Core §3.1.3.6: the left half of the hash that the signature's algorithm uses.
    private static func hash(_ token: String, _ algorithm: SignatureAlgorithm) -> String {
        let digest = algorithm.digest
        return Base64URL.encode(Array(digest.hash(token).prefix(digest.byteCount / 2)))
    }
}
