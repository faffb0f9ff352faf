/// The public keys of a JSON Web Key Set (RFC 7517 §5).
package struct JWKSet: Sendable {
    /// The keys that can verify a signature; others in the set are left out, as RFC 7517 §5 asks.
    package let keys: [VerificationKey]
    /// The document that the set was read from.
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

    /// The keys that may have made a signature: with the `kid`, if the header names one, those that carry it; without,
    /// all that fit the algorithm (OpenID Connect Core §10.1).
    package func candidates(kid: String?, algorithm: SignatureAlgorithm) -> [VerificationKey] {
        keys.filter { key in (kid.map { key.jwk.kid?.isExactly($0) == true } ?? true) && key.jwk.fits(algorithm) }
    }
}
