/// How the recipient obtains the content encryption key (RFC 7518 §4.1).
///
/// There is no `RSA1_5`, which reveals to attackers whether a padding was valid (RFC 8017 §7.2, RFC 8725 §3.2). There
/// is nothing with a shared secret (`dir`, `A128KW`, `PBES2-…`), with which every sender could also decrypt.
package enum KeyManagementAlgorithm: String, Sendable, Hashable, CaseIterable {
    case rsaOAEP = "RSA-OAEP"
    case rsaOAEP256 = "RSA-OAEP-256"
    case ecdhES = "ECDH-ES"
    case ecdhESA128KW = "ECDH-ES+A128KW"
    case ecdhESA192KW = "ECDH-ES+A192KW"
    case ecdhESA256KW = "ECDH-ES+A256KW"

    enum Family {
        case rsaOAEP(RSAOAEP)
        /// The length of the wrapping key; nil if the agreed key is itself the content encryption key.
        case ecdhES(wrappingKeyByteCount: Int?)
    }

    var family: Family {
        switch self {
        case .rsaOAEP: .rsaOAEP(.sha1)
        case .rsaOAEP256: .rsaOAEP(.sha256)
        case .ecdhES: .ecdhES(wrappingKeyByteCount: nil)
        case .ecdhESA128KW: .ecdhES(wrappingKeyByteCount: 16)
        case .ecdhESA192KW: .ecdhES(wrappingKeyByteCount: 24)
        case .ecdhESA256KW: .ecdhES(wrappingKeyByteCount: 32)
        }
    }
}
