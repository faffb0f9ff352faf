internal import CLibcrypto
internal import CShims

/// A private key that signs with one algorithm. Safe to use from many threads at once.
package final class SigningKey: Sendable {
    package let algorithm: SignatureAlgorithm
    package let publicKey: JWK
    package let key: PrivateKey

    /// Whether a provider uses the key where it is. Such a key takes its time to sign, and blocks the thread meanwhile.
    package var isElsewhere: Bool { key.context != nil }

    /// Generates a new key. `rsaBits` applies only to the RSA algorithms.
    ///
    /// - Parameters:
    ///   - provider: A provider that makes and uses the key, for an algorithm with a curve; nil for a key in memory.
    ///   - uri: Where a device keeps the key: see ``KeyProvider/keyURI(for:)``. If it has the key already, opens it.
    ///   - pin: The PIN of the token.
    package static func generate(
        _ algorithm: SignatureAlgorithm, rsaBits: Int = 2048, in provider: KeyProvider? = nil,
        at uri: String? = nil, pin: String? = nil
    ) throws(JOSEError) -> SigningKey {
        if let provider {
            guard case .ecdsa(let curve) = algorithm.family else {
                throw JOSEError(
                    "OpenSSL’s provider \(provider.name.foundText) makes no keys for \(algorithm.rawValue) here")
            }
            return try SigningKey(provider.key(curve, at: uri, pin: pin), algorithm)
        }
        let kind: PrivateKey.Kind =
            switch algorithm.family {
            case .rsaPKCS1, .rsaPSS: .rsa(bits: rsaBits)
            case .ecdsa(let curve): .ec(curve)
            case .edDSA: .ed25519
            case .mlDSA(let parameters): .mlDSA(parameters)
            }
        return try SigningKey(PrivateKey(kind), algorithm)
    }

    /// Reads a PEM private key (PKCS#8, PKCS#1 or SEC 1), or opens one that a TPM has wrapped.
    ///
    /// - Parameter passphrase: The passphrase of an encrypted key.
    package convenience init(
        pem: String, passphrase: String? = nil, algorithm: SignatureAlgorithm
    ) throws(JOSEError) {
        try self.init(PrivateKey(pem: pem, passphrase: passphrase), algorithm)
    }

    /// Creates a signing key from a private key, which several may share.
    ///
    /// - Throws: ``JOSEError`` if the key is of another kind than the algorithm's.
    package init(_ key: PrivateKey, _ algorithm: SignatureAlgorithm) throws(JOSEError) {
        publicKey = JWK(key.material, use: "sig", alg: algorithm.rawValue)
        (self.key, self.algorithm) = (key, algorithm)
        guard publicKey.fits(algorithm) else {
            throw JOSEError("the private key does not fit \(algorithm.rawValue)")
        }
    }

    /// The private key in PEM: unencrypted PKCS#8, or wrapped by its TPM.
    package var pem: String { key.pem }

    /// Signs in the form of RFC 7518 §3: with r and s concatenated for ECDSA.
    package func sign(_ input: [UInt8]) throws(JOSEError) -> [UInt8] {
        let signature = try key.context.using { () throws(JOSEError) in try signed(input) }
        // A provider may use another padding than asked for, and its key may have another public part.
        if isElsewhere, try !VerificationKey(publicKey).verifies(signature, of: input, algorithm: algorithm) {
            throw JOSEError("the key’s provider does not sign with \(algorithm.rawValue)")
        }
        return signature
    }

    private func signed(_ input: [UInt8]) throws(JOSEError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw JOSEError("libcrypto is out of memory") }
        defer { EVP_MD_CTX_free(context) }
        var keyContext: OpaquePointer?
        guard begin(context, &keyContext) == 1 else { throw failure() }
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

    private func begin(_ context: OpaquePointer, _ keyContext: inout OpaquePointer?) -> CInt {
        if let provider = key.context?.pointer {
            let digest = algorithm.digest.map { "SHA2-\($0.rawValue)" }
            return EVP_DigestSignInit_ex(context, &keyContext, digest, provider, nil, key.pointer, nil)
        }
        let digest = if case .edDSA = algorithm.family { nil as OpaquePointer? } else { algorithm.digest?.evp }
        return EVP_DigestSignInit(context, &keyContext, digest, nil, key.pointer)
    }

    private func failure() -> JOSEError {
        ERR_clear_error()
        let hint =
            isElsewhere
            ? ". The PIN may be wrong, the key of another device, or the device locked after wrong PINs" : ""
        return JOSEError("libcrypto could not sign with \(algorithm.rawValue)\(hint)")
    }
}
