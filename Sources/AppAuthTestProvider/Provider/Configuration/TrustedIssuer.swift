package import JOSE

/// Another issuer whose signed statements the provider accepts, and its public keys.
package struct TrustedIssuer: Sendable {
    package var identifier: String
    package var keys: [JWK]

    package init(_ identifier: String, keys: [JWK]) { (self.identifier, self.keys) = (identifier, keys) }

    /// Returns whether one of the keys made the signature.
    func signed(_ jws: JWS) -> Bool {
        guard let algorithm = SignatureAlgorithm(rawValue: jws.header.alg) else { return false }
        return keys.contains { key in
            (jws.header.kid == nil || key.kid == nil || jws.header.kid == key.kid) && key.fits(algorithm)
                && (try? VerificationKey(key)).map { jws.isSigned(by: $0, algorithm: algorithm) } ?? false
        }
    }
}
