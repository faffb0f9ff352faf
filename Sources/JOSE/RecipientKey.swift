/// A private key that decrypts tokens (RFC 7516 §2). Safe to use from many threads at once.
package final class RecipientKey: Sendable {
    /// The public part, with `enc` as `use` by default, and with `kid` and `alg` if they are known.
    package let publicKey: JWK
    private let key: PrivateKey

    /// Generates a new RSA, EC or X25519 key: tokens can be encrypted to no other.
    package static func generate(_ kind: PrivateKey.Kind) throws(JOSEError) -> RecipientKey {
        let key = try PrivateKey(kind)
        return try RecipientKey(key, JWK(key.material, use: "enc"))
    }

    /// Reads a PEM private key (PKCS#8, PKCS#1 or SEC 1).
    ///
    /// - Parameters:
    ///   - passphrase: The passphrase of an encrypted key.
    ///   - kid: The name by which senders know the key.
    package convenience init(pem: String, passphrase: String? = nil, kid: String? = nil) throws(JOSEError) {
        let key = try PrivateKey(pem: pem, passphrase: passphrase)
        try self.init(key, JWK(key.material, kid: kid, use: "enc"))
    }

    /// Reads a private JWK (RFC 7517). Its `kid`, `use`, `key_ops` and `alg` count if present.
    package convenience init(jwk json: JSON) throws(JOSEError) {
        var publicKey = try PrivateJWK(json).publicKey
        publicKey.use = publicKey.use ?? "enc"
        try self.init(PrivateKey(jwk: json), publicKey)
    }

    private init(_ key: PrivateKey, _ publicKey: JWK) throws(JOSEError) {
        (self.key, self.publicKey) = (key, publicKey)
        guard key.context == nil else { throw JOSEError("expected a private key in memory, found one in a device") }
        guard KeyManagementAlgorithm.allCases.contains(where: publicKey.fits) else {
            throw JOSEError(
                "expected a private key for decryption (RSA, EC or X25519), found another")
        }
    }

    /// The private key as unencrypted PKCS#8 in PEM.
    package var pem: String { key.pem }

    /// Returns the content encryption key of a token; nil if the token was not encrypted to this key.
    func contentKey(of jwe: JWE) -> [UInt8]? {
        let header = jwe.header
        switch header.alg.family {
        case .rsaOAEP(let padding): return padding.decrypt(jwe.encryptedKey, with: key)
        case .ecdhES(nil):
            // RFC 7516 §5.2 step 10: with direct key agreement, the encrypted key is empty.
            guard jwe.encryptedKey.isEmpty else { return nil }
            return agreedKey(header, header.enc.rawValue, header.enc.keyByteCount)
        case .ecdhES(let count?):
            // RFC 3394 §2.2.1: a wrapped key is eight bytes longer.
            guard jwe.encryptedKey.count == header.enc.keyByteCount + 8 else { return nil }
            return agreedKey(header, header.alg.rawValue, count).flatMap { AES.unwrap(jwe.encryptedKey, with: $0) }
        }
    }

    private func agreedKey(_ header: JWE.Header, _ algorithm: String, _ count: Int) -> [UInt8]? {
        let agreement = KeyAgreement(algorithm: algorithm, partyUInfo: header.apu, partyVInfo: header.apv)
        return header.epk.flatMap { agreement.key(key, $0.material, byteCount: count) }
    }
}
