internal import JOSE

extension IDTokenVerification {
    /// Checks that a token is signed by one of the provider's keys; they are fetched again, once, if none of them is the
    /// token's.
    ///
    /// - Parameters:
    ///   - listed: The algorithms that may be.
    ///   - refusal: Makes the error.
    func checkSignature(
        of jws: JWS, listed: [String], refusal: (_ message: String) -> AuthError
    ) async throws {
        let verifier = IDTokenVerifier(client: client)
        func isSigned(_ keys: KeySet?) throws -> Bool {
            do throws(JOSEError) { return try verifier.checkSignature(jws, keys: keys, listed: listed) == .valid } catch
            {
                throw refusal("\(error)")
            }
        }
        if try isSigned(try await keys?.keys()) { return }
        if let fetched = try await keys?.refetch(), try isSigned(fetched) { return }
        throw refusal("expected a signature by a key of the provider, found none that fits")
    }
}
