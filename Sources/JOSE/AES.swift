internal import CLibcrypto

/// AES from libcrypto; the length of the key selects the variant. The functions return nil if libcrypto fails: the
/// input is not authentic, or its padding is invalid.
enum AES {
    /// Encrypts with AES-GCM and a tag of 16 bytes (RFC 7518 §5.3).
    static func gcmSeal(
        _ plaintext: [UInt8], key: [UInt8], iv: [UInt8], aad: [UInt8]
    ) -> (ciphertext: [UInt8], tag: [UInt8])? {
        let cipher = select(key, EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm)
        var tag = [UInt8](repeating: 0, count: 16)
        let ciphertext = run(cipher, .encrypt, key, iv) { context in
            guard authenticate(aad, context), let out = process(plaintext, context),
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
            else { return nil }
            return out
        }
        return ciphertext.map { ($0, tag) }
    }

    static func gcmOpen(
        _ ciphertext: [UInt8], tag: [UInt8], key: [UInt8], iv: [UInt8], aad: [UInt8]
    ) -> [UInt8]? {
        var tag = tag
        let cipher = select(key, EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm)
        return run(cipher, .decrypt, key, iv) { context in
            guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1,
                authenticate(aad, context)
            else { return nil }
            return process(ciphertext, context)
        }
    }

    /// Encrypts with AES-CBC and the padding of RFC 5652 §6.3.
    static func cbcEncrypt(_ plaintext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        let cipher = select(key, EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc)
        return run(cipher, .encrypt, key, iv) { process(plaintext, $0) }
    }

    static func cbcDecrypt(_ ciphertext: [UInt8], key: [UInt8], iv: [UInt8]) -> [UInt8]? {
        let cipher = select(key, EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc)
        return run(cipher, .decrypt, key, iv) { process(ciphertext, $0) }
    }

    /// Wraps a key with AES Key Wrap and the default initial value (RFC 3394 §2.2.1).
    static func wrap(_ contentKey: [UInt8], with key: [UInt8]) -> [UInt8]? {
        let cipher = select(key, EVP_aes_128_wrap, EVP_aes_192_wrap, EVP_aes_256_wrap)
        return run(cipher, .encrypt, key, nil) { process(contentKey, $0) }
    }

    static func unwrap(_ wrapped: [UInt8], with key: [UInt8]) -> [UInt8]? {
        let cipher = select(key, EVP_aes_128_wrap, EVP_aes_192_wrap, EVP_aes_256_wrap)
        return run(cipher, .decrypt, key, nil) { process(wrapped, $0) }
    }

    private enum Direction: CInt {
        case decrypt = 0
        case encrypt = 1
    }

    private typealias Cipher = () -> OpaquePointer?

    private static func select(_ key: [UInt8], _ aes128: Cipher, _ aes192: Cipher, _ aes256: Cipher) -> OpaquePointer? {
        switch key.count {
        case 16: aes128()
        case 24: aes192()
        case 32: aes256()
        default: nil
        }
    }

    private static func run(
        _ cipher: OpaquePointer?, _ direction: Direction, _ key: [UInt8], _ iv: [UInt8]?,
        _ body: (OpaquePointer) -> [UInt8]?
    ) -> [UInt8]? {
        guard let cipher, let context = EVP_CIPHER_CTX_new() else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        // Without this flag, libcrypto refuses to wrap keys.
        EVP_CIPHER_CTX_set_flags(context, CInt(EVP_CIPHER_CTX_FLAG_WRAP_ALLOW))
        let isReady = EVP_CipherInit_ex(context, cipher, nil, key, iv, direction.rawValue) == 1
        let result = isReady ? body(context) : nil
        if result == nil { ERR_clear_error() }
        return result
    }

    private static func authenticate(_ aad: [UInt8], _ context: OpaquePointer) -> Bool {
        var length: CInt = 0
        return EVP_CipherUpdate(context, nil, &length, aad, CInt(aad.count)) == 1
    }

    /// Reserves one more block than the input: for padding, or for the initial value of a wrapped key.
    private static func process(_ input: [UInt8], _ context: OpaquePointer) -> [UInt8]? {
        var isDone = false
        let output = [UInt8](unsafeUninitializedCapacity: input.count + 16) { out, count in
            guard let base = out.baseAddress else { return }
            var (length, rest): (CInt, CInt) = (0, 0)
            isDone =
                EVP_CipherUpdate(context, base, &length, input, CInt(input.count)) == 1
                && EVP_CipherFinal_ex(context, base + Int(length), &rest) == 1
            // Output that is not authentic must not be visible.
            if isDone { count = Int(length + rest) } else { OPENSSL_cleanse(base, out.count) }
        }
        return isDone ? output : nil
    }
}
