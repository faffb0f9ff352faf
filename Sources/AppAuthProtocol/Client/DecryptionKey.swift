internal import JOSE

/// A private key for responses that a provider encrypts to this client: ID tokens and userinfo responses (OpenID
/// Connect Core §10.2, RFC 7516).
///
/// ```swift
/// var environment = Environment.live
/// let key = try DecryptionKey(pem: text)
/// environment.decryptionKey = { _ in key }
/// ```
/// It decrypts RSA-OAEP, RSA-OAEP-256 and ECDH-ES, the latter with and without key wrapping. It is a separate type from
/// ``ClientKey``, because a key that decrypts must not also sign (RFC 7517 §4.2, NIST SP 800-57 part 1 §5.2).
public struct DecryptionKey: Sendable {
    private let key: RecipientKey

    /// Reads a private key in PEM: PKCS#8, PKCS#1 or SEC 1; RSA of 2048 to 8192 bits, EC on P-256, P-384 or P-521, or
    /// X25519.
    ///
    /// - Parameters:
    ///   - pem: The key.
    ///   - keyID: The `kid` by which the provider knows the key.
    ///   - passphrase: Called if the key is encrypted. The library never prompts on a terminal.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` that says what was expected, without the
    ///   key.
    public init(
        pem: String, keyID: String? = nil, passphrase: @Sendable () async throws -> Secret
    ) async throws {
        let secret = pem.contains("ENCRYPTED") ? try await passphrase() : nil
        try self.init { () throws(JOSEError) in
            try RecipientKey(pem: pem, passphrase: secret?.reveal(), kid: keyID)
        }
    }

    /// Reads a private key in PEM that is not encrypted.
    ///
    /// - Throws: As ``init(pem:keyID:passphrase:)``.
    public init(pem: String, keyID: String? = nil) throws {
        try self.init { () throws(JOSEError) in try RecipientKey(pem: pem, kid: keyID) }
    }

    /// Reads a private JWK (RFC 7517). Its `kid`, `use`, `key_ops` and `alg` count if present.
    ///
    /// - Throws: As ``init(pem:keyID:passphrase:)``.
    public init(jwk: JSON) throws {
        try self.init { () throws(JOSEError) in try RecipientKey(jwk: jwk) }
    }

    private init(_ read: () throws(JOSEError) -> RecipientKey) throws {
        do { key = try read() } catch {
            throw AuthError(
                .invalidConfiguration, .configuration, "the client’s decryption key cannot be used: \(error)")
        }
    }

    /// The key's `kid`, if the provider names it by one.
    public var keyID: String? { key.publicKey.kid }

    /// The public key as a JWK, for registration at the provider (RFC 7591 §2 `jwks`).
    public var publicJWK: JSON { key.publicKey.json }

    func decrypt(_ token: JWE) throws -> [UInt8] { try token.decrypted(by: key) }
}

extension DecryptionKey: CustomStringConvertible, CustomReflectable {
    /// The key's name, without the key.
    public var description: String { "decryption key\(keyID.map { " \($0.foundText)" } ?? "")" }
    /// A mirror without children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Environment {
    /// Finds the key for an encrypted response by the `kid` of its header; the `kid` is nil if the header has none.
    /// Called for each such response. The name comes from the sender and is not verified: look it up among the app's
    /// own keys, and never use it as a path.
    public var decryptionKey: @Sendable (_ keyID: String?) async throws -> DecryptionKey {
        get { self[DecryptionKeySource.self].find }
        set { self[DecryptionKeySource.self].find = newValue }
    }
}

private struct DecryptionKeySource: EnvironmentKey, Sendable {
    var find: @Sendable (String?) async throws -> DecryptionKey

    static let defaultValue = DecryptionKeySource { _ in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.decryptionKey to return the key for the encrypted response, found none",
            outcome: .refused)
    }
}
