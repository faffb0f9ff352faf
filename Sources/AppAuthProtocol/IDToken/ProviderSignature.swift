internal import JOSE

extension IDTokenVerification {
    /// Checks that one of the provider's keys signed a token, as ``verified(refusal:_:)`` does.
    ///
    /// - Parameters:
    ///   - jws: The token.
    ///   - listed: The accepted algorithms.
    ///   - refusal: Creates the error from a message.
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
