internal import JOSE

// JWT Secured Authorization Response Mode for OAuth 2.0 (JARM).

extension AuthorizationRequest {
    /// Returns the token of a signed response, if its state is this request's. Nothing else is read before the
    /// signature is verified.
    func signedResponse(in parameters: FormParameters) -> Secret? {
        parameters.values("response").lazy.filter { token in
            guard let found = try? JWS(compact: token).claims["state"]?.string else { return false }
            return constantTimeEqual(found, state.reveal())
        }.first.map { Secret($0) }
    }
}

extension AuthorizationResponse {
    /// Returns the contents of the response, after verification if the provider signed it.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidRedirect``, the provider's own code if it denied the
    ///   request, and what fetching the provider's keys throws.
    package func grant(verifiedBy verifier: JWTVerifier) async throws -> AuthorizationGrant {
        switch content {
        case .open(let grant): return grant
        case .signed(let token):
            // JARM §2.4: the issuer, the audience, the expiration, and a signature by an algorithm that the provider
            // lists or the client registered.
            var expected = ClaimsVerifier(client: request.client) { message in
                AuthError(.invalidRedirect, .redirect, "invalid signed response: \(message)")
            }
            // It is not about a user, and has no tenant.
            (expected.exp, expected.issuerPolicy) = (.required, .exact)
            let claims = try await verifier.claims(
                in: token.reveal(), signedBy: request.client.authorizationResponseAlgorithms, expected)
            var parameters = FormParameters()
            for member in claims.members { parameters.append(member.name, member.value.string) }
            return try request.grant(in: parameters)
        }
    }
}
