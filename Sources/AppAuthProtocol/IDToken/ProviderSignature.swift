internal import JOSE

extension IDTokenVerification {
    /// Checks that a token is signed by one of the provider's keys, as ``verified(refusal:_:)``.
    ///
    /// - Parameters:
    ///   - jws: The token.
    ///   - listed: The algorithms that may be.
    ///   - refusal: Makes the error.
    package func checkSignature(
        of jws: JWS, listed: [String], refusal: (_ message: String) -> AuthError
    ) async throws {
        let verifier = IDTokenVerifier(client: client)
        try await verified(refusal: refusal) { keys -> Examination<Void> in
            let finding: SignatureFinding
            do throws(JOSEError) { finding = try verifier.checkSignature(jws, keys: keys, listed: listed) } catch {
                throw refusal("\(error)")
            }
            return finding == .valid ? .verified(()) : .signature(finding)
        }
    }
}
