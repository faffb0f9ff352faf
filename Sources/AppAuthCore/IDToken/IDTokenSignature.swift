internal import JOSE

extension IDTokenVerifier {
    // Core §3.1.3.7 steps 6 to 8, in every flow: TLS alone is not taken for a signature.
    //
    // The algorithm has to be one that the provider's metadata lists (RFC 8725 §3.1); the key has to carry the header's
    // kid and to fit the algorithm by its alg, use and kty.
    // - Returns: false if none of the keys can have made it, and newer ones may.
    func checkSignature(_ jws: JWS, keys: KeySet?, listed: [String]) throws(JOSEError) -> Bool {
        let name = jws.header.alg
        guard listed.contains(name) || (name == "EdDSA" && listed.contains("Ed25519")) else {
            throw JOSEError("expected an algorithm of '\(listed.joined(separator: " "))', found '\(name.prefix(64))'")
        }
        if let algorithm = MACAlgorithm(rawValue: name) {
            try checkMAC(jws, algorithm)
            return true
        }
        guard let algorithm = SignatureAlgorithm(rawValue: name) else {
            throw JOSEError("expected an algorithm that is known here, found '\(name.prefix(64))'")
        }
        guard let keys else { return false }
        let candidates = keys.jwks.candidates(kid: jws.header.kid, algorithm: algorithm)
        // Core §10.1: without a kid there is a single key that fits.
        guard jws.header.kid != nil || candidates.count <= 1 else {
            throw JOSEError("expected a 'kid', since \(candidates.count) keys fit \(name), found none")
        }
        if candidates.contains(where: { jws.isSigned(by: $0, algorithm: algorithm) }) { return true }
        // A key without a name may have been replaced by another.
        guard !candidates.isEmpty, jws.header.kid != nil else { return false }
        throw JOSEError("expected a signature by the provider's key, found another")
    }

    // Step 8: the key of an HMAC is the client secret; a public client has none.
    private func checkMAC(_ jws: JWS, _ algorithm: MACAlgorithm) throws(JOSEError) {
        guard let secret = client.authentication.secret else {
            throw JOSEError(
                "expected a signature by a public key, found \(algorithm.rawValue), and the client has no secret")
        }
        guard jws.isSigned(bySecret: secret.bytes, algorithm: algorithm) else {
            throw JOSEError("expected an \(algorithm.rawValue) signature by the client secret, found another")
        }
    }
}
