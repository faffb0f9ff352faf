internal import JOSE

/// The result of checking a signature.
enum SignatureFinding {
    case valid
    /// No key can have made the signature.
    case keyUnknown
    /// The matching key did not make the signature: it is forged, or the provider has replaced the key under the same
    /// name or without one.
    case keyDiffers

    /// The error message for an invalid signature.
    var message: String {
        self == .keyUnknown
            ? "expected a key that fits it in the provider's key set, found none"
            : "expected a signature by the provider's key, found another"
    }
}

extension IDTokenVerifier {
    // Core §3.1.3.7 steps 6 to 8, in every flow: TLS does not replace a signature.
    //
    // The provider's metadata must list the algorithm (RFC 8725 §3.1), or the client's registration name it. The key
    // must have the header's kid and fit the algorithm by its alg, use and kty.
    func checkSignature(_ jws: JWS, keys: KeySet?, listed: [String]) throws(JOSEError) -> SignatureFinding {
        let name = jws.header.alg
        let algorithm = SignatureAlgorithm(rawValue: name)
        guard listed.contains(where: { algorithm?.isNamed($0) ?? $0.isExactly(name) }) else {
            throw JOSEError("expected an algorithm of '\(listed.joined(separator: " "))', found '\(name.prefix(64))'")
        }
        if let algorithm = MACAlgorithm(rawValue: name) {
            try checkMAC(jws, algorithm)
            return .valid
        }
        guard let algorithm else {
            throw JOSEError("expected an algorithm that is known here, found '\(name.prefix(64))'")
        }
        guard let keys else { return .keyUnknown }
        let candidates = keys.jwks.candidates(kid: jws.header.kid, algorithm: algorithm)
        // Core §10.1: without a kid, exactly one key must fit.
        guard jws.header.kid != nil || candidates.count <= 1 else {
            throw JOSEError("expected a 'kid', since \(candidates.count) keys fit \(name), found none")
        }
        if candidates.contains(where: { jws.isSigned(by: $0, algorithm: algorithm) }) { return .valid }
        return candidates.isEmpty ? .keyUnknown : .keyDiffers
    }

    // Step 8: the key of an HMAC is the client secret. A public client has none.
    private func checkMAC(_ jws: JWS, _ algorithm: MACAlgorithm) throws(JOSEError) {
        guard let secret = client.authentication.secret else {
            throw JOSEError(
                "expected a signature by a public key, found \(algorithm.rawValue), and the client has no secret")
        }
        // Core §16.19: a shorter secret could be guessed, and the signature forged.
        try algorithm.check(secret: secret.bytes)
        guard jws.isSigned(bySecret: secret.bytes, algorithm: algorithm) else {
            throw JOSEError("expected an \(algorithm.rawValue) signature by the client secret, found another")
        }
    }
}
