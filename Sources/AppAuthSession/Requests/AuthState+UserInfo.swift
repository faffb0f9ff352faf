public import AppAuthProtocol
internal import HTTPTypes
internal import JOSE

extension AuthState {
    /// Fetches the user's claims from the userinfo endpoint (OpenID Connect Core §5.3), with a valid access token.
    ///
    /// If the endpoint rejects the token, even with a 401 that gives no reason, the token is refreshed and the request is
    /// sent once more. The response is accepted only if its `sub` is the ID token's (§5.3.2). A session without an ID
    /// token has nothing to compare with. A signed response is verified with the provider's keys; an encrypted one is
    /// decrypted first.
    ///
    /// - Throws: ``AuthError``: ``AuthError/Code/invalidMetadata`` if the provider has no userinfo endpoint,
    ///   ``AuthError/Code/invalidResponse``, and the errors of ``send(_:)``.
    public func userInfo() async throws -> Claims {
        let url = try record.client.require(.userInfo)
        do { return try await userInfo(at: url) } catch let error as AuthError {
            guard await hasMoved(.userInfo, from: url, since: error, .userInfo) else { throw error }
            return try await userInfo(at: record.client.require(.userInfo))
        }
    }

    private func userInfo(at url: SecureURL) async throws -> Claims {
        var request = HTTPRequest(method: .get, url: url)
        request.headerFields[.accept] = "application/json, application/jwt"
        return try await userInfo(in: send(TransportRequest(request), stage: .userInfo), from: url)
    }

    /// Returns the claims in a response of the userinfo endpoint, however the request was sent.
    package func userInfo(in response: TransportResponse, from url: SecureURL) async throws -> Claims {
        guard response.status == .ok else {
            let secrets = [record.accessToken?.value].compactMap(\.self)
            throw response.oauthError(from: url, stage: .userInfo, hiding: secrets)
        }
        let claims = try await claims(in: response)
        guard let subject = claims.subject, !subject.isEmpty else {
            let found = claims.subject == nil ? claims["sub"].foundKind : "an empty one"
            throw Self.refusal("expected 'sub' to be a text, found \(found)")
        }
        if let idToken = record.idToken, !subject.isExactly(idToken.subject) {
            throw Self.refusal("expected the 'sub' of the ID token, found another")
        }
        return claims
    }

    private func claims(in response: TransportResponse) async throws -> Claims {
        do {
            guard response.mediaType == "application/jwt" else {
                try environment.allowPlain(.userInfo)
                return try Claims(ResponseObject(response, refuse: Self.refusal).members)
            }
            let token = String(decoding: response.body, as: UTF8.self)
            return try await verifier.userInfo(in: token, refusal: Self.refusal)
        } catch let error as JOSEError {
            throw Self.refusal("\(error)")
        }
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidResponse, .userInfo, "invalid userinfo response: \(message)")
    }
}
