internal import HTTPTypes
internal import JOSE

extension AuthState {
    /// Fetches the person's claims from the userinfo endpoint (OpenID Connect Core §5.3), with a valid access token.
    ///
    /// The answer counts only if its `sub` is the ID token's (§5.3.2); in a session without an ID token there is nothing
    /// to compare with. A signed answer is verified with the provider's keys.
    ///
    /// - Throws: ``AuthError``: ``AuthError/Code/invalidMetadata`` if the provider has no userinfo endpoint,
    ///   ``AuthError/Code/invalidResponse``, and whatever ``send(_:)`` throws.
    public func userInfo() async throws -> Claims {
        let url = try record.client.require(.userInfo)
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.accept] = "application/json, application/jwt"
        let answer = try await send(HTTPExchange(request), stage: .userInfo)
        guard answer.response.status == .ok else {
            let secrets = [record.accessToken?.value].compactMap(\.self)
            throw answer.oauthError(from: url, stage: .userInfo, hiding: secrets)
        }
        let claims = try await claims(in: answer)
        guard let subject = claims.subject, !subject.isEmpty else { throw Self.refusal("expected 'sub', found none") }
        if let idToken = record.idToken, !subject.isExactly(idToken.subject) {
            throw Self.refusal("expected the 'sub' of the ID token, found another")
        }
        return claims
    }

    private func claims(in answer: HTTPAnswer) async throws -> Claims {
        switch answer.mediaType {
        case "application/json": return try Self.claims(in: answer.body)
        case "application/jwt": return try await verifiedClaims(in: String(decoding: answer.body, as: UTF8.self))
        case let found: throw Self.refusal("expected application/json or application/jwt, found \(found ?? "none")")
        }
    }

    private static func claims(in body: [UInt8]) throws -> Claims {
        let json: JSON
        do { json = try JSON(parsing: body) } catch { throw refusal("\(error)") }
        guard let members = json.object else { throw refusal("expected a JSON object") }
        return Claims(members)
    }

    /// Core §5.3.2: a signed answer is verified; its iss and aud, where it has them, are the provider and this client.
    private func verifiedClaims(in token: String) async throws -> Claims {
        let jws: JWS
        do { jws = try JWS(compact: token) } catch { throw Self.refusal("\(error)") }
        let provider = record.client.provider
        try await verification.checkSignature(
            of: jws, listed: provider.userInfoSigningAlgorithms ?? provider.idTokenSigningAlgorithms,
            refusal: Self.refusal)
        let (claims, client) = (try Self.claims(in: jws.payload), record.client)
        if let issuer = claims["iss"], issuer != .string(client.provider.issuer.string) {
            throw Self.refusal("expected 'iss' to be the provider, found another")
        }
        if claims["aud"] != nil, IDToken.audience(of: claims)?.contains(where: client.id.isExactly) != true {
            throw Self.refusal("expected 'aud' to contain the client, found another")
        }
        return claims
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidResponse, .userInfo, "the userinfo response is refused: \(message)")
    }
}
