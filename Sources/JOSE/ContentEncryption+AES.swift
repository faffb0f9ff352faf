extension ContentEncryption {
    /// Encrypts and authenticates (RFC 7518 §5.2.2.1, §5.3).
    package func seal(
        _ plaintext: [UInt8], key: [UInt8], iv: [UInt8], aad: [UInt8]
    ) -> (ciphertext: [UInt8], tag: [UInt8])? {
        guard key.count == keyByteCount, iv.count == ivByteCount else { return nil }
        guard case .cbc(let digest) = mode else { return AES.gcmSeal(plaintext, key: key, iv: iv, aad: aad) }
        let half = keyByteCount / 2
        return AES.cbcEncrypt(plaintext, key: Array(key[half...]), iv: iv).map {
            ($0, tag(of: $0, digest, key: Array(key[..<half]), iv, aad))
        }
    }

    /// Decrypts if the input is authentic (RFC 7518 §5.2.2.2, §5.3); otherwise returns nil.
    package func open(_ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], iv: [UInt8], aad: [UInt8]) -> [UInt8]? {
        guard key.count == keyByteCount, iv.count == ivByteCount, tag.count == tagByteCount else { return nil }
        guard case .cbc(let digest) = mode else {
            return AES.gcmOpen(ciphertext, tag: tag, key: key, iv: iv, aad: aad)
        }
        let half = keyByteCount / 2
        // The tag is checked first: an error about the padding of forged bytes would be an oracle (RFC 7516 §11.5).
        guard constantTimeEqual(tag, self.tag(of: ciphertext, digest, key: Array(key[..<half]), iv, aad)) else {
            return nil
        }
        return AES.cbcDecrypt(ciphertext, key: Array(key[half...]), iv: iv)
    }

    private func tag(
        of ciphertext: [UInt8], _ digest: Digest, key: [UInt8], _ iv: [UInt8], _ aad: [UInt8]
    ) -> [UInt8] {
        // §5.2.2.1 step 4: the length of the additional data in bits, as a 64-bit number.
        let bits = UInt64(aad.count) * 8
        let length = (0..<8).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
        return Array(digest.hmac(key: key, aad + iv + ciphertext + length).prefix(tagByteCount))
    }
}
