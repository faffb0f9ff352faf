internal import JOSE

/// The kinds of keys that tokens can be bound to (RFC 9449 §4.2).
public enum DPoPAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// ECDSA on P-256, which every server with DPoP supports.
    case es256 = "ES256"
    /// Ed25519.
    case edDSA = "EdDSA"
    /// RSA of 2048 bits.
    case rs256 = "RS256"
    /// RSA of 2048 bits with PSS padding.
    case ps256 = "PS256"
}

/// The private key of one session. It is stored with the session's tokens, which cannot be used without it.
package struct DPoPKey: Sendable, Hashable {
    package let algorithm: DPoPAlgorithm
    /// The key in PEM: as PKCS#8, or wrapped by the TPM that has made it.
    package let pem: Secret
    /// The key's thumbprint, which a bound token contains (RFC 9449 §6.1, RFC 7638).
    package let thumbprint: String

    /// Generates a key.
    ///
    /// - Parameter provider: The provider that makes and uses the key; nil for a key in memory.
    package init(_ algorithm: DPoPAlgorithm, in provider: KeyProvider? = nil) throws {
        let key = try Self.attempt { () throws(JOSEError) in
            try SigningKey.generate(algorithm.signature, in: provider)
        }
        (self.algorithm, pem, thumbprint) = (algorithm, Secret(key.pem), key.publicKey.thumbprint)
        guard self.provider == provider else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a provider whose keys can be stored with a session: only that of a TPM wraps them",
                outcome: .notSent)
        }
    }

    init(algorithm: DPoPAlgorithm, pem: Secret, thumbprint: String) {
        (self.algorithm, self.pem, self.thumbprint) = (algorithm, pem, thumbprint)
    }

    /// The provider that uses the key where it is; nil for a key in memory.
    package var provider: KeyProvider? { KeyProvider(ofKey: pem.reveal()) }

    func signingKey() throws -> SigningKey {
        try Self.attempt { () throws(JOSEError) in
            try SigningKey(pem: pem.reveal(), algorithm: algorithm.signature)
        }
    }

    private static func attempt(_ work: () throws(JOSEError) -> SigningKey) throws -> SigningKey {
        do { return try work() } catch {
            throw AuthError(
                .unavailable, .configuration, "the session's DPoP key cannot be used: \(error)", outcome: .notSent)
        }
    }
}

extension DPoPAlgorithm {
    var signature: SignatureAlgorithm {
        switch self {
        case .es256: .es256
        case .edDSA: .edDSA
        case .rs256: .rs256
        case .ps256: .ps256
        }
    }
}

extension DPoPKey {
    package var stored: JSON {
        ["algorithm": .string(algorithm.rawValue), "pem": JSON(storing: pem), "thumbprint": .string(thumbprint)]
    }

    package init(stored json: StoredObject) throws {
        guard let algorithm = DPoPAlgorithm(rawValue: try json.string("algorithm")) else { throw StoredObject.Damage() }
        self.init(algorithm: algorithm, pem: try json.secret("pem"), thumbprint: try json.string("thumbprint"))
    }
}
