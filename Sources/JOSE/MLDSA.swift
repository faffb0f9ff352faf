internal import CLibcrypto

/// The parameter sets of ML-DSA, a signature scheme that quantum computers do not break (FIPS 204 §4). In a JWK, each is
/// a key type of its own, `AKP` with this `alg` (RFC 9964). libcrypto has them since version 3.5.
package enum MLDSA: String, Sendable, Hashable, CaseIterable {
    case mlDSA44 = "ML-DSA-44"
    case mlDSA65 = "ML-DSA-65"
    case mlDSA87 = "ML-DSA-87"

    /// The length of a public key (FIPS 204 §4, table 2).
    var publicKeyByteCount: Int {
        switch self {
        case .mlDSA44: 1312
        case .mlDSA65: 1952
        case .mlDSA87: 2592
        }
    }

    /// The length of the seed, which is the private key in a JWK.
    static let seedByteCount = 32

    /// Whether the process's libcrypto has ML-DSA.
    static let isAvailable: Bool = {
        let context = EVP_PKEY_CTX_new_from_name(nil, MLDSA.mlDSA44.rawValue, nil)
        defer { EVP_PKEY_CTX_free(context) }
        if context == nil { ERR_clear_error() }
        return context != nil
    }()

    func checkIsAvailable() throws(JOSEError) {
        guard !Self.isAvailable else { return }
        throw JOSEError("\(rawValue) needs libcrypto 3.5 or newer, found \(Libcrypto.version)")
    }
}
