internal import JOSE

extension JWTVerifier {
    /// Decrypts and verifies a userinfo response in the form of a token: signed, encrypted, or signed and then encrypted
    /// (OpenID Connect Core §5.3.2, §5.3.4).
    ///
    /// Accepts a token that is encrypted but not signed, as §5.3.2 allows: like plain JSON, it is only as trustworthy
    /// as the provider's TLS certificate. An ID token must be signed, because anyone could encrypt one.
    ///
    /// - Parameter refusal: Creates the error from a message.
    /// - Throws: The refusal; `JOSEError`, which the caller converts; what fetching the keys throws; what
    ///   ``Environment/decryptionKey`` throws.
    package func userInfo(
        in token: String, refusal: @escaping @Sendable (_ message: String) -> AuthError
    ) async throws -> Claims {
        // §5.3.2: iss and aud, if present, must be the provider and this client.
        var expected = ClaimsVerifier(client: client, refusal: refusal)
        (expected.iss, expected.aud) = (.optional, .optional)
        guard JWE.hasForm(token) else {
            try environment.allowPlain(.userInfo)
            return try await Claims(claims(in: token, signedBy: client.userInfoAlgorithms, expected))
        }
        let content = try await environment.decrypt(token)
        if content.isObject {
            let json: JSON
            do { json = try JSON(parsing: content.bytes) } catch { throw refusal("\(error)") }
            let claims = try ResponseObject(json, refuse: refusal).members
            try expected.checkIssuer(claims)
            try expected.checkAudience(claims)
            return Claims(claims)
        }
        guard let signed = content.token else {
            throw JOSEError("expected claims or a signed token inside the encrypted response, found neither")
        }
        return try await Claims(claims(in: signed, signedBy: client.userInfoAlgorithms, expected))
    }
}
