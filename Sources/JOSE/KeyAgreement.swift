internal import CLibcrypto

/// Elliptic curve Diffie-Hellman with an ephemeral key on one side (RFC 7518 §4.6, RFC 8037 §3.2).
struct KeyAgreement {
    /// The algorithm's name: `enc` if the agreed key is the content encryption key, otherwise `alg`.
    let algorithm: String
    /// The header's information about the two parties (§4.6.1.2, §4.6.1.3).
    let partyUInfo: [UInt8]
    let partyVInfo: [UInt8]

    /// Returns the agreed key; nil if the curves differ, or if the peer's point is not on the curve.
    func key(_ own: PrivateKey, _ peer: JWK.Material, byteCount: Int) -> [UInt8]? {
        switch (own.material, peer) {
        case (.ec(let own, _, _), .ec(let other, _, _)) where own == other: break
        case (.x25519, .x25519): break
        default: return nil
        }
        // libcrypto rejects a point off the curve (RFC 8725 §3.4), and for X25519 a secret of zeros (RFC 7748 §6.1).
        guard let peer = try? PublicKey(peer), var secret = own.secret(with: peer) else { return nil }
        defer { wipe(&secret) }
        return derive(from: secret, byteCount: byteCount)
    }

    /// Derives a key with the Concat KDF and SHA-256 (NIST SP 800-56A §5.8.1, RFC 7518 §4.6.2).
    func derive(from secret: [UInt8], byteCount: Int) -> [UInt8] {
        func withLength(_ bytes: [UInt8]) -> [UInt8] { Self.bytes(of: bytes.count) + bytes }
        let otherInfo =
            withLength(Array(algorithm.utf8)) + withLength(partyUInfo) + withLength(partyVInfo)
            + Self.bytes(of: byteCount * 8)
        var key: [UInt8] = []
        var round = 1
        while key.count < byteCount {
            key += Digest.sha256.hash(Self.bytes(of: round) + secret + otherInfo)
            round += 1
        }
        return Array(key.prefix(byteCount))
    }

    private static func bytes(of number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}

extension PrivateKey {
    /// Returns the shared secret Z, including leading zeros.
    fileprivate func secret(with peer: PublicKey) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var isDone = false
        let secret = [UInt8](unsafeUninitializedCapacity: 66) { out, count in
            var length = out.count
            isDone =
                EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_derive_set_peer(context, peer.pointer) == 1
                && EVP_PKEY_derive(context, out.baseAddress, &length) == 1
            count = isDone ? length : 0
        }
        guard isDone else {
            ERR_clear_error()
            return nil
        }
        return secret
    }
}
