internal import FoundationEssentials
internal import JOSE

// JWT Secured Authorization Response Mode for OAuth 2.0 (JARM).

extension AuthorizationResponse {
    /// Returns the contents of the response, after verification if the provider signed it.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidRedirect``, the provider's own code if it denied the
    ///   request, and what fetching the provider's keys throws.
    package func grant(verifiedBy verification: IDTokenVerification) async throws -> AuthorizationGrant {
        switch content {
        case .open(let grant): return grant
        case .signed(let token):
            var parameters = FormParameters()
            for member in try await claims(of: token, verification).members {
                parameters.append(member.name, member.value.string)
            }
            return try request.grant(in: parameters)
        }
    }

    /// Verifies the issuer, the audience, the expiration, and the signature by an algorithm that the provider lists or
    /// the client registered (JARM §2.4).
    private func claims(
        of token: Secret, _ verification: IDTokenVerification
    ) async throws -> JSON.Object {
        let jws: JWS
        do { jws = try JWS(compact: token.reveal()) } catch { throw request.refusal("\(error)") }
        let json: JSON?
        do { json = try JSON(parsing: jws.payload) } catch { throw request.refusal("\(error)") }
        guard let claims = json?.object else {
            throw request.refusal("expected the signed response to hold a JSON object, found \(json.foundKind)")
        }
        let (client, provider) = (request.client, request.client.provider)
        guard claims["iss"] == .string(provider.issuer.string) else {
            throw request.refusal(
                "expected 'iss' of the signed response to be '\(provider.issuer)', found \(claims["iss"].foundText)")
        }
        let audience = IDToken.audience(of: Claims(claims))
        guard audience?.contains(where: client.id.isExactly) == true else {
            let found = audience.map { "'\($0.joined(separator: " ").shortened(to: 200))'" } ?? claims["aud"].foundKind
            throw request.refusal("expected 'aud' of the signed response to contain '\(client.id)', found \(found)")
        }
        try await verification.checkSignature(of: jws, listed: client.authorizationResponseAlgorithms) {
            request.refusal($0)
        }
        let leeway = IDTokenVerifier(client: client).leeway.seconds
        guard let end = claims["exp"]?.double else {
            throw request.refusal(
                "expected 'exp' of the signed response to be a number of seconds, found \(claims["exp"].foundKind)")
        }
        let (now, clock) = verification.environment.time(of: client)
        guard now.timeIntervalSince1970 < end + leeway else {
            throw request.refusal("expected a signed response that has not expired, found one that did by \(clock)")
        }
        return claims
    }
}
