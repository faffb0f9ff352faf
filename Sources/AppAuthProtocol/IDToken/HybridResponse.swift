internal import JOSE

// OpenID Connect Core §3.3: the response type `code id_token`.

extension AuthorizationGrant {
    /// Verifies the ID token that came with the code, and that it is for this code and this state.
    ///
    /// - Throws: ``AuthError``, as for any ID token.
    package func verifiedIDToken(
        for request: AuthorizationRequest, by verification: IDTokenVerification
    ) async throws -> IDToken? {
        guard let idToken else { return nil }
        var expected = IDTokenVerifier.Expectations(request: request)
        expected.isFromBrowser = true
        let verified = try await verification.verify(idToken, expected, serverClock: nil)
        let verifier = IDTokenVerifier(client: request.client)
        // Core §3.3.2.10: c_hash is required. FAPI 1.0 Advanced §5.1: so is s_hash.
        try verifier.checkHash("c_hash", of: verified, is: code)
        if request.options.requiresStateHash || verified.claims["s_hash"] != nil {
            try verifier.checkHash("s_hash", of: verified, is: request.state)
        }
        return verified
    }
}

extension IDTokenVerifier {
    /// Core §3.3.2.11, FAPI 1.0 Advanced §5.1: the left half of the hash, with the digest of the token's own algorithm.
    fileprivate func checkHash(_ name: String, of idToken: IDToken, is value: Secret) throws {
        let algorithm: String
        do { algorithm = try JWS(compact: idToken.rawValue.reveal()).header.alg } catch { throw refusal("\(error)") }
        try checkHash(name, of: idToken.claims, is: value, algorithm: algorithm)
    }
}

extension IDToken {
    /// Core §3.3.3.6: both tokens of a sign-in must have the same subject. Their issuer is the client's provider.
    package func requireSamePerson(as other: IDToken?) throws {
        guard let other else { return }
        guard subject.isExactly(other.subject) else {
            throw AuthError(
                .invalidIDToken, .idToken,
                "the ID token is refused: expected the 'sub' of the one that came with the code, found another")
        }
    }
}
