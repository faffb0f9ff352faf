internal import CLibcrypto
internal import CShims

/// A libcrypto private key with its public part, with which a ``SigningKey`` signs and a ``RecipientKey`` decrypts.
package final class PrivateKey: @unchecked Sendable {
    package let pointer: OpaquePointer
    let material: JWK.Material
    /// Where the key is used; nil for a key in memory.
    package let context: ProviderContext?

    package enum Kind: Sendable {
        case rsa(bits: Int = 2048)
        case ec(Curve)
        case ed25519
        case x25519
        case mlDSA(MLDSA)
    }

    /// Generates a new key.
    convenience init(_ kind: Kind) throws(JOSEError) {
        if case .mlDSA(let parameters) = kind { try parameters.checkIsAvailable() }
        let key: OpaquePointer? =
            switch kind {
            case .rsa(let bits): shims_rsa_generate(bits)
            case .ec(let curve): shims_ec_generate(curve.rawValue)
            case .ed25519: shims_ed25519_generate()
            case .x25519: shims_x25519_generate()
            case .mlDSA(let parameters): shims_ml_dsa_generate(parameters.rawValue)
            }
        guard let key else {
            ERR_clear_error()
            throw JOSEError("libcrypto could not make a key")
        }
        try self.init(owning: key)
    }

    /// Reads a PEM private key (PKCS#8, PKCS#1 or SEC 1), or opens one that a TPM has wrapped.
    ///
    /// - Parameter passphrase: The passphrase of an encrypted key. Deriving the key from it can take seconds: read the
    ///   key once and reuse it.
    package convenience init(pem: String, passphrase: String? = nil) throws(JOSEError) {
        if pem.contains(KeyProvider.wrappedKey) {
            try self.init(opening: pem, with: .tpm2, passphrase: passphrase)
            return
        }
        guard let key = shims_private_key_from_pem(pem, pem.utf8.count, passphrase) else {
            ERR_clear_error()
            let expected =
                passphrase == nil
                ? "expected a private key in PEM that is not encrypted"
                : "expected a private key in PEM, and its passphrase"
            throw JOSEError("\(expected), found \(Self.kind(of: pem))")
        }
        try self.init(owning: key)
        // RFC 7518 §6.3.2.7: a key that cannot be written as a JWK here is not accepted as PEM either.
        guard shims_rsa_has_third_prime(pointer) == 0 else { throw PrivateJWK.moreThanTwoPrimes }
        try requirePair()
    }

    /// Opens a key where it is.
    ///
    /// - Parameters:
    ///   - text: A URI such as `handle:0x81000001` or `pkcs11:token=…`, or the provider's PEM.
    ///   - passphrase: The passphrase or PIN. A wrong PIN shows when the key signs.
    package convenience init(
        opening text: String, with provider: KeyProvider, passphrase: String? = nil
    ) throws(JOSEError) {
        let context = try ProviderContext.open(provider)
        let key = try Optional(context).using { () throws(JOSEError) in
            guard let key = try Self.open(text, context, passphrase) else {
                throw text.contains(KeyProvider.wrappedKey)
                    ? JOSEError(
                        "this machine’s TPM cannot load the key: another has made it, or the TPM was cleared, or has no room"
                    )
                    : JOSEError(
                        "OpenSSL’s provider \(provider.name.foundText) finds no such key, or the PIN is wrong"
                            + (provider.name == KeyProvider.pkcs11.rawValue ? provider.modules : ""))
            }
            return key
        }
        try self.init(owning: key, in: context)
    }

    private static func open(
        _ text: String, _ context: ProviderContext, _ passphrase: String?
    ) throws(JOSEError) -> OpaquePointer? {
        var isAsked: CInt = 0
        let key =
            text.contains("-----BEGIN ")
            ? shims_provider_key_from_pem(context.pointer, text, text.utf8.count, passphrase)
            // tpm2-openssl asks for a PIN only where the URI says so.
            : shims_provider_key_at(
                context.pointer,
                text.hasPrefix("handle:") && passphrase != nil && !text.hasSuffix("?pass") ? text + "?pass" : text,
                passphrase, &isAsked)
        if key == nil {
            ERR_clear_error()
            if isAsked == 1, passphrase == nil { throw .needsPIN }
        }
        return key
    }

    /// Generates a new key on a curve, which only the provider can use.
    ///
    /// - Parameters:
    ///   - uri: Where a token keeps the key. If it has the key already, opens it.
    ///   - passphrase: The PIN of the token.
    package convenience init(
        generatedBy provider: KeyProvider, _ curve: Curve, at uri: String? = nil, passphrase: String? = nil
    ) throws(JOSEError) {
        let context = try ProviderContext.open(provider)
        let key = try Optional(context).using { () throws(JOSEError) in
            if let uri, let key = try Self.open(uri, context, passphrase) { return key }
            guard let key = shims_provider_ec_generate(context.pointer, curve.rawValue, uri) else {
                ERR_clear_error()
                throw JOSEError(
                    "OpenSSL’s provider \(provider.name.foundText) could not make a key"
                        + (uri == nil ? "" : ": the PIN may be wrong, or the token is not there" + provider.modules))
            }
            return key
        }
        try self.init(owning: key, in: context)
    }

    /// Throws if the private and the public part do not match: signatures of such a key cannot be verified.
    private func requirePair() throws(JOSEError) {
        guard shims_is_pair(pointer) == 1 else {
            ERR_clear_error()
            throw Self.noPair
        }
    }

    private static let noPair = JOSEError(
        "the private and the public part of the key do not match")

    /// Describes a text that is not a usable private key, by its first line.
    private static func kind(of text: String) -> String {
        guard let begin = text.firstRange(of: "-----BEGIN ") else { return "no PEM" }
        let label = text[begin.upperBound...].prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == " ") }
        switch label {
        case "PUBLIC KEY", "RSA PUBLIC KEY": return "a public key"
        case "CERTIFICATE": return "a certificate"
        case "OPENSSH PRIVATE KEY": return "an OpenSSH key"
        default: return text.contains("ENCRYPTED") ? "an encrypted one" : "an unreadable one"
        }
    }

    /// Reads a private JWK (RFC 7518 §6.2.2, §6.3.2, RFC 8037 §2).
    package convenience init(jwk json: JSON) throws(JOSEError) {
        guard let key = try PrivateJWK(json).libcryptoKey() else {
            ERR_clear_error()
            throw Self.noPair
        }
        try self.init(owning: key)
        try requirePair()
    }

    private init(owning key: OpaquePointer, in context: ProviderContext? = nil) throws(JOSEError) {
        (pointer, self.context) = (key, context)
        guard let material = context.using({ JWK.Material(publicPartOf: key) }) else {
            context.using { EVP_PKEY_free(key) }
            ERR_clear_error()
            throw JOSEError(
                "expected a private key for RSA, on P-256, P-384 or P-521, Ed25519, X25519 or ML-DSA, found another")
        }
        self.material = material
        // A key that verification would reject must not sign either (RFC 7518 §3.3, §3.5).
        if case .rsa(let n, let e) = material { try VerificationKey.checkRSA(modulus: n, exponent: e) }
    }

    deinit { context.using { EVP_PKEY_free(pointer) } }

    /// The key in PEM: unencrypted PKCS#8, or wrapped by its TPM.
    var pem: String {
        context.using {
            let capacity = shims_private_key_to_pem(pointer, nil, 0)
            return String(unsafeUninitializedCapacity: capacity) { out in
                out.withMemoryRebound(to: CChar.self) { shims_private_key_to_pem(pointer, $0.baseAddress, capacity) }
            }
        }
    }
}

extension JWK.Material {
    /// Creates the public part; nil for an unknown kind of key.
    fileprivate init?(publicPartOf key: OpaquePointer) {
        func bytes(_ capacity: Int, _ read: (UnsafeMutablePointer<UInt8>?) -> Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: capacity) { out, count in count = read(out.baseAddress) }
        }
        func raw(_ byteCount: Int = 32) -> [UInt8]? {
            var length = byteCount
            let x = bytes(length) { EVP_PKEY_get_raw_public_key(key, $0, &length) == 1 ? length : 0 }
            return x.count == byteCount ? x : nil
        }
        if EVP_PKEY_is_a(key, "RSA") == 1 {
            let n = bytes(1024) { shims_rsa_modulus(key, $0, 1024) }
            let e = bytes(8) { shims_rsa_exponent(key, $0, 8) }
            guard !n.isEmpty, !e.isEmpty else { return nil }
            self = .rsa(n: n, e: e)
        } else if EVP_PKEY_is_a(key, "EC") == 1 {
            for curve in Curve.allCases {
                let half = curve.byteCount
                let point = bytes(2 * half) { shims_ec_coordinates(key, curve.rawValue, $0, half) }
                guard !point.isEmpty else { continue }
                self = .ec(curve, x: Array(point[..<half]), y: Array(point[half...]))
                return
            }
            return nil
        } else if EVP_PKEY_is_a(key, "ED25519") == 1, let x = raw() {
            self = .ed25519(x)
        } else if EVP_PKEY_is_a(key, "X25519") == 1, let x = raw() {
            self = .x25519(x)
        } else if let parameters = MLDSA.allCases.first(where: { EVP_PKEY_is_a(key, $0.rawValue) == 1 }),
            let x = raw(parameters.publicKeyByteCount)
        {
            self = .mlDSA(parameters, x)
        } else {
            return nil
        }
    }
}
