/// The public keys of a JSON Web Key Set (RFC 7517 §5).
package struct JWKSet: Sendable {
    /// The keys that can verify a signature. All others are skipped, as RFC 7517 §5 recommends.
    package let keys: [VerificationKey]
    /// The original document.
    package let json: JSON

    private static let maximumKeys = 256

    package init(_ json: JSON) throws(JOSEError) {
        guard let entries = json["keys"]?.array else {
            throw JOSEError("expected a JWK Set, found no array 'keys'")
        }
        guard entries.count <= Self.maximumKeys else {
            throw JOSEError("expected at most \(Self.maximumKeys) keys, found \(entries.count)")
        }
        self.json = json
        keys = entries.compactMap { entry in
            guard let jwk = try? JWK(entry) else { return nil }
            return try? VerificationKey(jwk)
        }
    }

    /// Returns the keys that may have made a signature: those with the header's `kid` that fit the algorithm, or
    /// without a `kid`, all that fit (OpenID Connect Core §10.1).
    package func candidates(kid: String?, algorithm: SignatureAlgorithm) -> [VerificationKey] {
        keys.filter { key in (kid.map { key.jwk.kid?.isExactly($0) == true } ?? true) && key.jwk.fits(algorithm) }
    }

    /// Returns the keys without a name that fit the algorithm. Some providers name their key only in the header.
    package func unnamed(algorithm: SignatureAlgorithm) -> [VerificationKey] {
        keys.filter { $0.jwk.kid == nil && $0.jwk.fits(algorithm) }
    }
}
