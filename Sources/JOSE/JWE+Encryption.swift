extension JWE {
    /// Encrypts to a public key, in compact form (RFC 7516 §5.1). Sets `alg`, `enc` and `epk`; the caller sets the rest
    /// of the header.
    ///
    /// - Throws: ``JOSEError`` if the key does not fit the algorithm, or if the system provides no random bytes.
    package static func encrypt(
        _ content: [UInt8], header: JSON.Object = [:], to key: JWK, _ alg: KeyManagementAlgorithm,
        _ enc: ContentEncryption
    ) throws -> String {
        guard key.fits(alg) else { throw JOSEError("the key does not fit \(alg.rawValue)") }
        var header = header
        (header["alg"], header["enc"]) = (.string(alg.rawValue), .string(enc.rawValue))
        var recipient = try Recipient(key: key, alg: alg, enc: enc, header: header)
        defer { wipe(&recipient.contentKey) }
        let protected = Base64URL.encode(Array(JSON.object(recipient.header).serialized().utf8))
        let iv = try randomBytes(enc.ivByteCount)
        guard let sealed = enc.seal(content, key: recipient.contentKey, iv: iv, aad: Array(protected.utf8)) else {
            throw JOSEError("libcrypto could not encrypt with \(enc.rawValue)")
        }
        let parts = [recipient.encryptedKey, iv, sealed.ciphertext, sealed.tag].map(Base64URL.encode)
        return ([protected] + parts).joined(separator: ".")
    }

    /// The content encryption key, and its encrypted form for the recipient (RFC 7516 §5.1 steps 1 to 7).
    private struct Recipient {
        var contentKey: [UInt8]
        let encryptedKey: [UInt8]
        var header: JSON.Object

        init(key: JWK, alg: KeyManagementAlgorithm, enc: ContentEncryption, header: JSON.Object) throws {
            self.header = header
            let random = try randomBytes(enc.keyByteCount)
            switch alg.family {
            case .rsaOAEP(let padding):
                contentKey = random
                encryptedKey = try Self.required(padding.encrypt(random, with: PublicKey(key.material)))
            case .ecdhES(let wrappingKeyByteCount):
                let ephemeral = try Self.ephemeralKey(like: key.material)
                self.header["epk"] = JWK(ephemeral.material).json
                func party(_ name: String) -> [UInt8] { header[name]?.string.flatMap(Base64URL.decode) ?? [] }
                let agreement = KeyAgreement(
                    algorithm: wrappingKeyByteCount == nil ? enc.rawValue : alg.rawValue, partyUInfo: party("apu"),
                    partyVInfo: party("apv"))
                let agreed = try Self.required(
                    agreement.key(ephemeral, key.material, byteCount: wrappingKeyByteCount ?? enc.keyByteCount))
                contentKey = wrappingKeyByteCount == nil ? agreed : random
                encryptedKey = wrappingKeyByteCount == nil ? [] : try Self.required(AES.wrap(random, with: agreed))
            }
        }

        private static func ephemeralKey(like material: JWK.Material) throws(JOSEError) -> PrivateKey {
            if case .ec(let curve, _, _) = material { return try PrivateKey(.ec(curve)) }
            return try PrivateKey(.x25519)
        }

        private static func required(_ bytes: [UInt8]?) throws(JOSEError) -> [UInt8] {
            guard let bytes else { throw JOSEError("libcrypto could not encrypt to the key") }
            return bytes
        }
    }
}
