internal import AppAuthConcurrency
package import JOSE

/// New signing keys. Generating an RSA key takes a tenth of a second, so the providers and tests of a process share these.
package enum SharedKeys {
    private struct Name: Hashable {
        let algorithm: SignatureAlgorithm
        let number: Int
    }

    private static let made = LockedValue<[Name: SigningKey]>([:])

    /// Returns a key. For RSA, it is the one with this number; keys of other kinds are always new.
    package static func key(_ algorithm: SignatureAlgorithm, _ number: Int = 0) throws -> SigningKey {
        switch algorithm.family {
        case .ecdsa, .edDSA, .mlDSA: return try SigningKey.generate(algorithm)
        case .rsaPKCS1, .rsaPSS:
            return try made.withLock { made in
                let name = Name(algorithm: algorithm, number: number)
                let key = try made[name] ?? SigningKey.generate(algorithm)
                made[name] = key
                return key
            }
        }
    }
}
