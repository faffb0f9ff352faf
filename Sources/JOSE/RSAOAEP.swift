internal import CLibcrypto

/// RSAES-OAEP from libcrypto (RFC 8017 §7.1), with the same digest for the label and for MGF1 (RFC 7518 §4.3).
enum RSAOAEP {
    case sha1
    case sha256

    func encrypt(_ bytes: [UInt8], with key: PublicKey) -> [UInt8]? {
        run(key.pointer, EVP_PKEY_encrypt_init, EVP_PKEY_encrypt, bytes)
    }

    /// Decrypts; nil if the padding is invalid, or if the input is not as long as the modulus (§7.1.2 step 1).
    func decrypt(_ bytes: [UInt8], with key: PrivateKey) -> [UInt8]? {
        guard bytes.count == EVP_PKEY_get_size(key.pointer) else { return nil }
        return run(key.pointer, EVP_PKEY_decrypt_init, EVP_PKEY_decrypt, bytes)
    }

    private typealias Operation = (
        OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?, UnsafePointer<UInt8>?, Int
    ) -> CInt

    private func run(
        _ key: OpaquePointer, _ initialize: (OpaquePointer?) -> CInt, _ operation: Operation, _ bytes: [UInt8]
    ) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        let digest = if case .sha1 = self { EVP_sha1() } else { EVP_sha256() }
        var isDone = false
        let output = [UInt8](unsafeUninitializedCapacity: Int(EVP_PKEY_get_size(key))) { out, count in
            var length = out.count
            isDone =
                initialize(context) == 1 && EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_oaep_md(context, digest) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
                && operation(context, out.baseAddress, &length, bytes, bytes.count) == 1
            count = isDone ? length : 0
        }
        guard isDone else {
            ERR_clear_error()
            return nil
        }
        return output
    }
}
