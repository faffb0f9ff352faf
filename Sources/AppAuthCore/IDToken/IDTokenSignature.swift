internal import JOSE

extension IDTokenVerifier {
    // Core §3.1.3.7 steps 6 to 8, in every flow: TLS alone is not taken for a signature.
    //
    // The algorithm has to be one that the provider's metadata lists (RFC 8725 §3.1); the key has to carry the header's
    // kid and to fit the algorithm by its alg, use and kty.
    func checkSignature(_ jws: JWS, keys: KeySet?) throws -> Bool {
        let name = jws.header.alg
        let listed = client.provider.idTokenSigningAlgorithms
        guard listed.contains(name) || (name == "EdDSA" && listed.contains("Ed25519")) else {
            throw refusal("expected an algorithm of '\(listed.joined(separator: " "))', found '\(name.prefix(64))'")
        }
        if let algorithm = MACAlgorithm(rawValue: name) {
            try checkMAC(jws, algorithm)
            return true
        }
        guard let algorithm = SignatureAlgorithm(rawValue: name) else {
            throw refusal("expected an algorithm that is known here, found '\(name.prefix(64))'")
        }
        guard let keys else { return false }
        let candidates = keys.jwks.candidates(kid: jws.header.kid, algorithm: algorithm)
        // Core §10.1: without a kid there is a single key that fits.
        guard jws.header.kid != nil || candidates.count <= 1 else {
            throw refusal("expected a 'kid', since \(candidates.count) keys fit \(name), found none")
        }
        guard !candidates.isEmpty else { return false }
        guard candidates.contains(where: { jws.isSigned(by: $0, algorithm: algorithm) }) else {
            throw refusal("expected a signature by the provider's key, found another")
        }
        return true
    }

    // Step 8: the key of an HMAC is the client secret; a public client has none.
    private func checkMAC(_ jws: JWS, _ algorithm: MACAlgorithm) throws {
        guard let secret = client.authentication.secret else {
            throw refusal(
                "expected a signature by a public key, found \(algorithm.rawValue), and the client has no secret")
        }
        guard jws.isSigned(bySecret: secret.bytes, algorithm: algorithm) else {
            throw refusal("expected an \(algorithm.rawValue) signature by the client secret, found another")
        }
    }
}
