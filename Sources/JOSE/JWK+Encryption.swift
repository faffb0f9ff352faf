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
