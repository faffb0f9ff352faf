internal import AppAuthConcurrency
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
    /// The key in PEM: as PKCS#8, or wrapped by the TPM that has made it. Or the URI of a key in a device.
    package let pem: Secret
    /// The key's thumbprint, which a bound token contains (RFC 9449 §6.1, RFC 7638).
    package let thumbprint: String

    /// Generates a key.
    ///
    /// - Parameters:
    ///   - provider: The provider that makes and uses the key; nil for a key in memory.
    ///   - words: What the key is for. A token has one key for the same words.
    ///   - pin: The PIN of the token.
    package init(
        _ algorithm: DPoPAlgorithm, in provider: KeyProvider? = nil, for words: String = "", pin: Secret? = nil
    ) throws {
        (pem, thumbprint) = try Self.attempt { () throws(JOSEError) in
            let uri = try provider?.keyURI(for: words)
            let key = try SigningKey.generate(algorithm.signature, in: provider, at: uri, pin: pin?.reveal())
            return (Secret(uri ?? key.pem), key.publicKey.thumbprint)
        }
        self.algorithm = algorithm
        guard self.provider?.name == provider?.name else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a provider whose keys can be stored with a session: that of a TPM, or of a token")
        }
    }

    init(algorithm: DPoPAlgorithm, pem: Secret, thumbprint: String) {
        (self.algorithm, self.pem, self.thumbprint) = (algorithm, pem, thumbprint)
    }

    /// The provider that uses the key where it is; nil for a key in memory.
    package var provider: KeyProvider? { KeyProvider(ofKey: pem.reveal()) }

    /// Whether the provider has the key: the one that it names, or one on the same token.
    package func isIn(_ provider: KeyProvider) -> Bool {
        let text = pem.reveal()
        return self.provider == provider || text == provider.rawValue || text.hasPrefix(provider.rawValue + ";")
    }

    func signingKey(pin: Secret? = nil) throws -> SigningKey {
        try Self.attempt { () throws(JOSEError) in
            let text = pem.reveal()
            guard let provider, !text.contains("-----BEGIN ") else {
                return try SigningKey(pem: text, algorithm: algorithm.signature)
            }
            let key = try SigningKey(
                PrivateKey(opening: text, with: provider, passphrase: pin?.reveal()), algorithm.signature)
            guard key.publicKey.thumbprint == thumbprint else { throw JOSEError("the device has another key instead") }
            return key
        }
    }

    /// Throws if a provider's device is missing or signs nothing, or has not made the key. It leaves none there.
    ///
    /// - Parameter key: The key to open, on a thread of its own; nil for none.
    package static func requireUsable(
        _ key: DPoPKey?, in provider: KeyProvider, _ environment: Environment
    ) async throws {
        try await OwnThread().run(askingForPIN: { try await environment.keyPIN(key?.pem.reveal() ?? provider.rawValue) }
        ) {
            pin in
            guard let key else {
                return try attempt { () throws(JOSEError) in try provider.requireUsable() }
            }
            let signingKey = try key.signingKey(pin: pin)
            _ = try attempt { () throws(JOSEError) in try signingKey.sign([1]) }
        }
    }

    private static func attempt<Value>(_ work: () throws(JOSEError) -> Value) throws -> Value {
        do { return try work() } catch {
            var failure = AuthError(
                .unavailable, .configuration, "the session’s DPoP key cannot be used: \(error)", outcome: .notSent)
            failure.needsPIN = error == .needsPIN
            throw failure
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
