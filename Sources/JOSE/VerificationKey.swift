internal import AppAuthConcurrency
internal import CLibcrypto
internal import CShims

/// A public key that verifies signatures. Safe to use from many threads at once.
package final class VerificationKey: @unchecked Sendable {
    package let jwk: JWK
    private let key: PublicKey
    /// Unused contexts for each algorithm: creating one takes a tenth of the time of an RSA verification.
    private let idle = LockedValue<[SignatureAlgorithm: [OpaquePointer]]>([:])

    package static let rsaBits = 2048...8192

    /// Creates a key.
    ///
    /// - Throws: ``JOSEError`` for a key that is only for key agreement, for an RSA key that is too short, too long or
    ///   has an invalid exponent, and for a point that is not on its curve (RFC 7518 §3.3, RFC 8725 §3.4).
    package init(_ jwk: JWK) throws(JOSEError) {
        if case .x25519 = jwk.material { throw JOSEError("expected a key that verifies, found one for key agreement") }
        (self.jwk, key) = (jwk, try PublicKey(jwk.material))
    }

    deinit { idle.withLock { for context in $0.values.joined() { EVP_PKEY_CTX_free(context) } } }

    /// Checks the size of an RSA key. libcrypto itself accepts a modulus of one bit or of 32,768.
    static func checkRSA(modulus: [UInt8], exponent: [UInt8]) throws(JOSEError) {
        let significant = modulus.drop { $0 == 0 }
        let bits = significant.count * 8 - (significant.first?.leadingZeroBitCount ?? 0)
        guard rsaBits.contains(bits), modulus.last.map({ $0 & 1 == 1 }) == true else {
            throw JOSEError(
                "expected an odd RSA modulus of \(rsaBits.lowerBound) to \(rsaBits.upperBound) bits, found \(bits)")
        }
        let value = exponent.drop { $0 == 0 }
        guard value.count <= 8, let last = value.last, last & 1 == 1, value.count > 1 || last >= 3 else {
            throw JOSEError("expected an odd RSA exponent from 3 to 2^64, found another")
        }
    }

    /// Returns whether this key made the signature of these bytes with this algorithm.
    package func verifies(
        _ signature: [UInt8], of input: UnsafeRawBufferPointer, algorithm: SignatureAlgorithm
    ) -> Bool {
        guard jwk.fits(algorithm) else { return false }
        let valid =
            switch algorithm.family {
            case .edDSA, .mlDSA: verifiesMessage(signature, of: input)
            case .ecdsa(let curve): verifiesECDSA(signature, of: input, curve, algorithm)
            // RFC 8017 §8.1.2 and §8.2.2, step 1. For PSS, libcrypto also accepts one without its leading zeros.
            case .rsaPKCS1, .rsaPSS:
                signature.count == EVP_PKEY_get_size(key.pointer) && verifiesDigest(signature, of: input, algorithm)
            }
        if !valid { ERR_clear_error() }
        return valid
    }

    package func verifies(_ signature: [UInt8], of input: [UInt8], algorithm: SignatureAlgorithm) -> Bool {
        input.withUnsafeBytes { verifies(signature, of: $0, algorithm: algorithm) }
    }

    /// For the algorithms that hash the message themselves.
    private func verifiesMessage(_ signature: [UInt8], of input: UnsafeRawBufferPointer) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        let bytes = input.bindMemory(to: UInt8.self)
        return EVP_DigestVerifyInit(context, nil, nil, nil, key.pointer) == 1
            && EVP_DigestVerify(context, signature, signature.count, bytes.baseAddress, bytes.count) == 1
    }

    /// RFC 7518 §3.4: r and s, each as long as the curve's coordinates. Any other length is invalid.
    private func verifiesECDSA(
        _ signature: [UInt8], of input: UnsafeRawBufferPointer, _ curve: Curve, _ algorithm: SignatureAlgorithm
    ) -> Bool {
        guard signature.count == 2 * curve.byteCount else { return false }
        let capacity = signature.count + 16
        let der = [UInt8](unsafeUninitializedCapacity: capacity) { out, count in
            count = shims_ecdsa_to_der(signature, signature.count, out.baseAddress, capacity)
        }
        return !der.isEmpty && verifiesDigest(der, of: input, algorithm)
    }

    private func verifiesDigest(
        _ signature: [UInt8], of input: UnsafeRawBufferPointer, _ algorithm: SignatureAlgorithm
    ) -> Bool {
        guard let digest = algorithm.digest?.hash(input),
            let context = idle.withLock({ $0[algorithm]?.popLast() }) ?? newContext(for: algorithm)
        else { return false }
        defer { idle.withLock { $0[algorithm, default: []].append(context) } }
        return EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
    }

    private func newContext(for algorithm: SignatureAlgorithm) -> OpaquePointer? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil) else { return nil }
        guard EVP_PKEY_verify_init(context) == 1, configure(context, for: algorithm) else {
            EVP_PKEY_CTX_free(context)
            return nil
        }
        return context
    }
}

/// Sets the digest and the padding of a context that signs or verifies.
func configure(_ context: OpaquePointer, for algorithm: SignatureAlgorithm) -> Bool {
    let digestIsSet = { EVP_PKEY_CTX_set_signature_md(context, algorithm.digest?.evp) == 1 }
    return switch algorithm.family {
    case .rsaPKCS1: EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1 && digestIsSet()
    // RFC 7518 §3.5: the salt is as long as the digest.
    case .rsaPSS:
        EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 && digestIsSet()
            && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1
    case .ecdsa: digestIsSet()
    case .edDSA, .mlDSA: true
    }
}
