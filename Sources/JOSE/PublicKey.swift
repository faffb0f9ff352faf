internal import CLibcrypto
internal import CShims

/// A libcrypto public key.
final class PublicKey: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Creates a key.
    ///
    /// - Throws: ``JOSEError`` for an RSA key that is too short, too long or has an invalid exponent, for a point that is
    ///   not on its curve (RFC 7518 §3.3, RFC 8725 §3.4), and for an algorithm that this libcrypto lacks.
    init(_ material: JWK.Material) throws(JOSEError) {
        let key: OpaquePointer?
        switch material {
        case .rsa(let n, let e):
            try VerificationKey.checkRSA(modulus: n, exponent: e)
            key = shims_rsa_public(n, n.count, e, e.count)
        case .ec(let curve, let x, let y):
            let point = [4] + x + y
            key = shims_ec_public(curve.rawValue, point, point.count)
        case .ed25519(let x): key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, x, x.count)
        case .x25519(let x): key = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, x, x.count)
        case .mlDSA(let parameters, let bytes):
            try parameters.checkIsAvailable()
            key = EVP_PKEY_new_raw_public_key_ex(nil, parameters.rawValue, nil, bytes, bytes.count)
        }
        guard let key else {
            ERR_clear_error()
            throw JOSEError("libcrypto rejects the public key")
        }
        pointer = key
    }

    deinit { EVP_PKEY_free(pointer) }
}
