/// The signature algorithms of JSON Web Signature with a public key (RFC 7518 §3.1, RFC 8037 §3.1,
/// RFC 9964).
///
/// There is no `none`: a token with it names an unknown algorithm (RFC 8725 §3.2).
package enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case es512 = "ES512"
    case edDSA = "EdDSA"
    /// EdDSA by its name in RFC 9864, which includes the curve.
    case ed25519 = "Ed25519"
    case mlDSA44 = "ML-DSA-44"
    case mlDSA65 = "ML-DSA-65"
    case mlDSA87 = "ML-DSA-87"

    package enum Family: Sendable { case rsaPKCS1, rsaPSS, ecdsa(Curve), edDSA, mlDSA(MLDSA) }

    /// The algorithms that the process's libcrypto has.
    package static let available = allCases.filter { (try? $0.checkIsAvailable()) != nil }

    /// Throws if the process's libcrypto is too old for the algorithm.
    package func checkIsAvailable() throws(JOSEError) {
        if case .mlDSA(let parameters) = family { try parameters.checkIsAvailable() }
    }

    package var family: Family {
        switch self {
        case .rs256, .rs384, .rs512: .rsaPKCS1
        case .ps256, .ps384, .ps512: .rsaPSS
        case .es256: .ecdsa(.p256)
        case .es384: .ecdsa(.p384)
        case .es512: .ecdsa(.p521)
        case .edDSA, .ed25519: .edDSA
        case .mlDSA44: .mlDSA(.mlDSA44)
        case .mlDSA65: .mlDSA(.mlDSA65)
        case .mlDSA87: .mlDSA(.mlDSA87)
        }
    }

    /// The digest of the signature. Ed25519 itself hashes with SHA-512 (RFC 8032 §5.1). ML-DSA has none of SHA-2.
    package var digest: Digest? {
        switch self {
        case .rs256, .ps256, .es256: .sha256
        case .rs384, .ps384, .es384: .sha384
        case .rs512, .ps512, .es512, .edDSA, .ed25519: .sha512
        case .mlDSA44, .mlDSA65, .mlDSA87: nil
        }
    }
}

extension SignatureAlgorithm {
    /// Returns whether a name in a list or a key means this algorithm: EdDSA with Ed25519 has two names (RFC 9864
    /// §2.2).
    package func isNamed(_ name: String) -> Bool {
        if name == rawValue { return true }
        guard case .edDSA = family else { return false }
        return name == Self.edDSA.rawValue || name == Self.ed25519.rawValue
    }
}

/// The algorithms of JSON Web Signature with a shared secret (RFC 7518 §3.2).
package enum MACAlgorithm: String, Sendable, Hashable, CaseIterable {
    case hs256 = "HS256"
    case hs384 = "HS384"
    case hs512 = "HS512"

    package var digest: Digest {
        switch self {
        case .hs256: .sha256
        case .hs384: .sha384
        case .hs512: .sha512
        }
    }

    /// Throws if the secret is shorter than the digest (RFC 7518 §3.2, RFC 8725 §3.5). An attacker with one token could
    /// find a shorter secret offline, by trying all of them.
    package func check(secret: [UInt8]) throws(JOSEError) {
        guard secret.count >= digest.byteCount else {
            throw JOSEError(
                "expected a secret of at least \(digest.byteCount) bytes for \(rawValue), found \(secret.count)")
        }
    }
}

/// The curves of ECDSA and ECDH-ES (RFC 7518 §6.2.1.1).
package enum Curve: String, Sendable, Hashable, CaseIterable {
    case p256 = "P-256"
    case p384 = "P-384"
    case p521 = "P-521"

    /// The length of a coordinate, and of each half of a signature.
    package var byteCount: Int {
        switch self {
        case .p256: 32
        case .p384: 48
        case .p521: 66
        }
    }
}
