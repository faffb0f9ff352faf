internal import CLibcrypto
internal import CShims

/// A private key that signs with one algorithm. Safe to use from many threads at once.
package final class SigningKey: @unchecked Sendable {
    package let algorithm: SignatureAlgorithm
    package let publicKey: JWK
    private let key: OpaquePointer

    /// Makes a new key. `rsaBits` counts for the RSA algorithms alone.
    package static func generate(_ algorithm: SignatureAlgorithm, rsaBits: Int = 2048) throws(JOSEError) -> SigningKey {
        let key: OpaquePointer? =
            switch algorithm.family {
            case .rsaPKCS1, .rsaPSS: shims_rsa_generate(rsaBits)
            case .ecdsa(let curve): shims_ec_generate(curve.rawValue)
            case .edDSA: shims_ed25519_generate()
            }
        guard let key else {
            ERR_clear_error()
            throw JOSEError("libcrypto could not make a key for \(algorithm.rawValue)")
        }
        return try SigningKey(owning: key, algorithm)
    }

    /// Reads a PEM private key (PKCS#8, PKCS#1 or SEC 1).
    ///
    /// - Parameter passphrase: For a key that is encrypted.
    package convenience init(
        pem: String, passphrase: String? = nil, algorithm: SignatureAlgorithm
    ) throws(JOSEError) {
        guard let key = shims_private_key_from_pem(pem, pem.utf8.count, passphrase) else {
            ERR_clear_error()
            throw JOSEError(
                passphrase == nil
                    ? "expected a private key in PEM that is not encrypted"
                    : "expected a private key in PEM, and its passphrase")
        }
        try self.init(owning: key, algorithm)
    }

    /// Reads a private JWK (RFC 7518 §6.2.2, §6.3.2, RFC 8037 §2).
    package convenience init(jwk json: JSON, algorithm: SignatureAlgorithm) throws(JOSEError) {
        guard let key = try PrivateJWK(json).libcryptoKey() else {
            ERR_clear_error()
            throw JOSEError("expected a private JWK whose private part belongs to its public one")
        }
        try self.init(owning: key, algorithm)
    }

    /// The private key as PKCS#8 in PEM, not encrypted.
    package var pem: String {
        let capacity = shims_private_key_to_pem(key, nil, 0)
        return String(unsafeUninitializedCapacity: capacity) { out in
            out.withMemoryRebound(to: CChar.self) { shims_private_key_to_pem(key, $0.baseAddress, capacity) }
        }
    }

    private init(owning key: OpaquePointer, _ algorithm: SignatureAlgorithm) throws(JOSEError) {
        guard let material = Self.material(of: key, algorithm) else {
            EVP_PKEY_free(key)
            ERR_clear_error()
            throw JOSEError("the private key does not fit \(algorithm.rawValue)")
        }
        self.key = key
        self.algorithm = algorithm
        publicKey = JWK(material, use: "sig", alg: algorithm.rawValue)
        // What nobody may verify with is not signed with either (RFC 7518 §3.3, §3.5).
        if case .rsa(let n, let e) = material { try VerificationKey.checkRSA(modulus: n, exponent: e) }
    }

    deinit { EVP_PKEY_free(key) }

    private static func material(of key: OpaquePointer, _ algorithm: SignatureAlgorithm) -> JWK.Material? {
        func bytes(_ capacity: Int, _ read: (UnsafeMutablePointer<UInt8>?) -> Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: capacity) { out, count in count = read(out.baseAddress) }
        }
        switch algorithm.family {
        case .rsaPKCS1, .rsaPSS:
            guard EVP_PKEY_is_a(key, "RSA") == 1 else { return nil }
            let n = bytes(1024) { shims_rsa_modulus(key, $0, 1024) }
            let e = bytes(8) { shims_rsa_exponent(key, $0, 8) }
            return n.isEmpty || e.isEmpty ? nil : .rsa(n: n, e: e)
        case .ecdsa(let curve):
            guard EVP_PKEY_is_a(key, "EC") == 1 else { return nil }
            let half = curve.byteCount
            let point = bytes(2 * half) { shims_ec_coordinates(key, curve.rawValue, $0, half) }
            return point.isEmpty ? nil : .ec(curve, x: Array(point[..<half]), y: Array(point[half...]))
        case .edDSA:
            guard EVP_PKEY_is_a(key, "ED25519") == 1 else { return nil }
            var length = 32
            let x = bytes(32) { EVP_PKEY_get_raw_public_key(key, $0, &length) == 1 ? length : 0 }
            return x.count == 32 ? .ed25519(x) : nil
        }
    }

    /// Signs, in the form of RFC 7518 §3: r and s side by side for ECDSA.
    package func sign(_ input: [UInt8]) throws(JOSEError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw JOSEError("libcrypto is out of memory") }
        defer { EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        let digest = if case .edDSA = algorithm.family { nil as OpaquePointer? } else { algorithm.digest.evp }
        guard EVP_DigestSignInit(context, &keyContext, digest, nil, key) == 1 else { throw failure() }
        if case .rsaPSS = algorithm.family {
            guard let keyContext, configure(keyContext, for: algorithm) else { throw failure() }
        }
        var length = 0
        guard EVP_DigestSign(context, nil, &length, input, input.count) == 1 else { throw failure() }
        let signature = [UInt8](unsafeUninitializedCapacity: length) { out, count in
            count = EVP_DigestSign(context, out.baseAddress, &length, input, input.count) == 1 ? length : 0
        }
        guard !signature.isEmpty else { throw failure() }
        guard case .ecdsa(let curve) = algorithm.family else { return signature }
        let rawLength = 2 * curve.byteCount
        let raw = [UInt8](unsafeUninitializedCapacity: rawLength) { out, count in
            count = shims_ecdsa_from_der(signature, signature.count, out.baseAddress, rawLength)
        }
        guard !raw.isEmpty else { throw failure() }
        return raw
    }

    private func failure() -> JOSEError {
        ERR_clear_error()
        return JOSEError("libcrypto could not sign with \(algorithm.rawValue)")
    }
}
