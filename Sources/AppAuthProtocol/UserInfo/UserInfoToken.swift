package import JOSE

/// A userinfo response in the form of a token: signed, encrypted, or signed and then encrypted (OpenID Connect
/// Core §5.3.2).
package struct UserInfoToken {
    let verification: IDTokenVerification
    let refusal: (_ message: String) -> AuthError

    package init(verification: IDTokenVerification, refusal: @escaping (_ message: String) -> AuthError) {
        (self.verification, self.refusal) = (verification, refusal)
    }

    /// Decrypts and verifies the token, and checks that it is for this client (Core §5.3.2, §5.3.4).
    ///
    /// Accepts a token that is encrypted but not signed, as §5.3.2 allows: like plain JSON, it is only as trustworthy
    /// as the provider's TLS certificate. An ID token must be signed, because anyone could encrypt one.
    ///
    /// - Throws: ``JOSEError``, which the caller converts; what fetching the keys throws; what
    ///   ``Environment/decryptionKey`` throws.
    package func claims(in token: String) async throws -> Claims {
        guard JWE.hasForm(token) else {
            try verification.environment.allowPlain(.userInfo)
            return try await verifiedClaims(in: token)
        }
        let content = try await verification.environment.decrypt(token)
        if content.isObject { return try checked(Self.claims(in: content.bytes)) }
        guard let signed = content.token else {
            throw JOSEError("expected claims or a signed token in the encrypted one, found something else")
        }
        return try await verifiedClaims(in: signed)
    }

    package static func claims(in body: [UInt8]) throws(JOSEError) -> Claims {
        let json: JSON
        do { json = try JSON(parsing: body) } catch { throw JOSEError("\(error)") }
        guard let members = json.object else { throw JOSEError("expected a JSON object, found \(json.kind)") }
        return Claims(members)
    }

    private func verifiedClaims(in token: String) async throws -> Claims {
        let jws = try JWS(compact: token)
        try await verification.checkSignature(
            of: jws, listed: verification.client.userInfoAlgorithms, refusal: refusal)
        return try checked(Self.claims(in: jws.payload))
    }

    /// Core §5.3.2: `iss` and `aud`, if present, must be the provider and this client.
    private func checked(_ claims: Claims) throws(JOSEError) -> Claims {
        let client = verification.client
        let (issuer, audience) = (claims["iss"], IDToken.audience(of: claims) ?? [])
        if issuer != nil, issuer != .string(client.provider.issuer.string) {
            throw JOSEError("expected 'iss' to be '\(client.provider.issuer)', found \(issuer.foundText)")
        }
        if claims["aud"] != nil, !audience.contains(where: client.id.isExactly) {
            let found = audience.isEmpty ? claims["aud"].foundKind : "'\(audience.joined(separator: " ").prefix(200))'"
            throw JOSEError("expected 'aud' to contain '\(client.id)', found \(found)")
        }
        return claims
    }
}
