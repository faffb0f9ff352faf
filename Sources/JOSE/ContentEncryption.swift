/// How the content is encrypted and authenticated (RFC 7518 §5.1).
package enum ContentEncryption: String, Sendable, Hashable, CaseIterable {
    case a128GCM = "A128GCM"
    case a192GCM = "A192GCM"
    case a256GCM = "A256GCM"
    case a128CBCHS256 = "A128CBC-HS256"
    case a192CBCHS384 = "A192CBC-HS384"
    case a256CBCHS512 = "A256CBC-HS512"

    enum Mode {
        case gcm
        /// CBC, and HMAC with this digest (§5.2).
        case cbc(Digest)
    }

    var mode: Mode {
        switch self {
        case .a128GCM, .a192GCM, .a256GCM: .gcm
        case .a128CBCHS256: .cbc(.sha256)
        case .a192CBCHS384: .cbc(.sha384)
        case .a256CBCHS512: .cbc(.sha512)
        }
    }

    /// The length of the key. With CBC, one half is for the HMAC and one for AES (§5.2.2.1).
    package var keyByteCount: Int {
        switch self {
        case .a128GCM: 16
        case .a192GCM: 24
        case .a256GCM, .a128CBCHS256: 32
        case .a192CBCHS384: 48
        case .a256CBCHS512: 64
        }
    }

    /// The length of the initialization vector (§5.2.2.1, §5.3).
    package var ivByteCount: Int { if case .gcm = mode { 12 } else { 16 } }

    /// The length of the authentication tag (§5.2.2.1, §5.3).
    package var tagByteCount: Int { if case .cbc(let digest) = mode { digest.byteCount / 2 } else { 16 } }
}
