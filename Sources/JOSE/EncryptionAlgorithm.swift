/// How the recipient obtains the content encryption key (RFC 7518 §4.1).
///
/// There is no `RSA1_5`, which reveals to attackers whether a padding was valid (RFC 8017 §7.2, RFC 8725 §3.2). There
/// is nothing with a shared secret (`dir`, `A128KW`, `PBES2-…`), with which every sender could also decrypt.
package enum KeyManagementAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rsaOAEP = "RSA-OAEP"
    case rsaOAEP256 = "RSA-OAEP-256"
    case ecdhES = "ECDH-ES"
    case ecdhESA128KW = "ECDH-ES+A128KW"
    case ecdhESA192KW = "ECDH-ES+A192KW"
    case ecdhESA256KW = "ECDH-ES+A256KW"

    enum Family {
        case rsaOAEP(RSAOAEP)
        /// The length of the wrapping key; nil if the agreed key is itself the content encryption key.
        case ecdhES(wrappingKeyByteCount: Int?)
    }

    var family: Family {
        switch self {
        case .rsaOAEP: .rsaOAEP(.sha1)
        case .rsaOAEP256: .rsaOAEP(.sha256)
        case .ecdhES: .ecdhES(wrappingKeyByteCount: nil)
        case .ecdhESA128KW: .ecdhES(wrappingKeyByteCount: 16)
        case .ecdhESA192KW: .ecdhES(wrappingKeyByteCount: 24)
        case .ecdhESA256KW: .ecdhES(wrappingKeyByteCount: 32)
        }
    }
}

/// How the content is encrypted and authenticated (RFC 7518 §5.1).
package enum ContentEncryption: String, Sendable, Hashable, CaseIterable {
    case a128GCM = "A128GCM"
    case a192GCM = "A192GCM"
    case a256GCM = "A256GCM"
    case a128CBCHS256 = "A128CBC-HS256"
    case a192CBCHS384 = "A192CBC-HS384"
    case a256CBCHS512 = "A256CBC-HS512"

    enum Mode {
        case gcm
        /// CBC, and HMAC with this digest (§5.2).
        case cbc(Digest)
    }

    var mode: Mode {
        switch self {
        case .a128GCM, .a192GCM, .a256GCM: .gcm
        case .a128CBCHS256: .cbc(.sha256)
        case .a192CBCHS384: .cbc(.sha384)
        case .a256CBCHS512: .cbc(.sha512)
        }
    }

    /// The length of the key. With CBC, one half is for the HMAC and one for AES (§5.2.2.1).
    package var keyByteCount: Int {
        switch self {
        case .a128GCM: 16
        case .a192GCM: 24
        case .a256GCM, .a128CBCHS256: 32
        case .a192CBCHS384: 48
        case .a256CBCHS512: 64
        }
    }

    /// The length of the initialization vector (§5.2.2.1, §5.3).
    package var ivByteCount: Int { if case .gcm = mode { 12 } else { 16 } }

    /// The length of the authentication tag (§5.2.2.1, §5.3).
    package var tagByteCount: Int { if case .cbc(let digest) = mode { digest.byteCount / 2 } else { 16 } }
}

extension JWK {
    /// Returns whether this key may be used with the algorithm: its type fits, and its `use`, `key_ops` and `alg`, if
    /// present, agree (RFC 7517 §4.2 to §4.4, RFC 8725 §3.1).
    package func fits(_ algorithm: KeyManagementAlgorithm) -> Bool {
        if let use, use != "enc" { return false }
        if let alg, !alg.isExactly(algorithm.rawValue) { return false }
        return switch (algorithm.family, material) {
        case (.rsaOAEP, .rsa): allows(["encrypt", "wrapKey", "decrypt", "unwrapKey"])
        // The public key of a key agreement has no operation of its own.
        case (.ecdhES, .ec), (.ecdhES, .x25519): keyOps == [] || allows(["deriveKey", "deriveBits"])
        default: false
        }
    }

    private func allows(_ operations: [String]) -> Bool {
        keyOps.map { $0.contains { operations.contains(where: $0.isExactly) } } ?? true
    }
}
