internal import AppAuthConcurrency
internal import JOSE

/// A private key with which a client authenticates (RFC 7523 §2.2, OpenID Connect Core §9 `private_key_jwt`).
///
/// ```swift
/// var environment = Environment.live
/// let key = try ClientKey(pem: text)
/// environment.clientKey = { _ in key }
/// ```
/// The session does not store the key, only its name.
public struct ClientKey: Sendable {
    private let keys: [SigningKey]
    /// The key's `kid`, if the provider finds it by one.
    public let keyID: String?

    /// Reads a private key in PEM: PKCS#8, PKCS#1 or SEC 1; RSA of 2048 to 8192 bits, EC on P-256, P-384 or P-521,
    /// Ed25519, or with libcrypto 3.5 or newer ML-DSA (RFC 9964). A key that the TPM of this machine has wrapped (`TSS2
    /// PRIVATE KEY`) is opened as by ``init(uri:provider:keyID:pin:)``.
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
        try self.init(keyID: keyID) { () throws(JOSEError) in
            try PrivateKey(pem: pem, passphrase: secret?.reveal())
        }
    }

    /// Reads a private key in PEM that is not encrypted.
    ///
    /// - Throws: As ``init(pem:keyID:passphrase:)``.
    public init(pem: String, keyID: String? = nil) throws {
        try self.init(keyID: keyID) { () throws(JOSEError) in try PrivateKey(pem: pem) }
    }

    /// Reads a private JWK (RFC 7517). Its `kid` and `alg` count if present.
    ///
    /// - Throws: As ``init(pem:keyID:passphrase:)``.
    public init(jwk: JSON) throws {
        let only = jwk["alg"]?.string
        try self.init(keyID: jwk["kid"]?.string, only: only) { () throws(JOSEError) in try PrivateKey(jwk: jwk) }
    }

    /// Opens a private key where it is, for example in a TPM or on a smart card, from which it cannot be copied.
    ///
    /// Blocks the thread while the device works, perhaps for a second. The key signs once, which checks the PIN. A wrong PIN
    /// is given to the device only once.
    ///
    /// - Parameters:
    ///   - uri: `handle:0x81000001` for a key in the TPM, `pkcs11:…` (RFC 7512) for one on a token, or a URI of another
    ///     provider.
    ///   - provider: The provider of OpenSSL that knows the URI; nil for that of `handle` or `pkcs11`.
    ///   - keyID: The `kid` by which the provider of the session knows the key.
    ///   - pin: The key's PIN or password, if it has one.
    /// - Throws: As ``init(pem:keyID:passphrase:)``.
    public init(uri: String, provider: KeyProvider? = nil, keyID: String? = nil, pin: Secret? = nil) throws {
        try self.init(keyID: keyID) { () throws(JOSEError) in
            guard let provider = provider ?? KeyProvider(ofKey: uri) else {
                throw JOSEError("expected a URI with handle: or pkcs11:, or the name of its provider")
            }
            return try PrivateKey(opening: uri, with: provider, passphrase: pin?.reveal())
        }
    }

    /// Opens a private key where it is, on a thread of its own, and gets a PIN only if the device asks for one.
    ///
    /// - Parameter askForPIN: Called if the device asks: a PKCS#11 token whose PIN the process has not given yet, or a TPM whose
    ///   URI ends with `?pass`. A wrong PIN is given to the device only once.
    /// - Throws: As ``init(pem:keyID:passphrase:)``, and what `askForPIN` throws.
    public init(
        uri: String, provider: KeyProvider? = nil, keyID: String? = nil, askForPIN: @Sendable () async throws -> Secret
    ) async throws {
        self = try await OwnThread().run(askingForPIN: askForPIN) {
            try ClientKey(uri: uri, provider: provider, keyID: keyID, pin: $0)
        }
    }

    /// Returns whether the name of a key is a URI for ``init(uri:provider:keyID:pin:)``, and not the path of a file.
    package static func isURI(_ name: String) -> Bool { KeyProvider(ofKey: name) != nil }

    private init(
        keyID: String?, only: String? = nil, _ read: () throws(JOSEError) -> PrivateKey
    ) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidConfiguration, .configuration, "the client’s key cannot be used: \(message)")
        }
        let key: PrivateKey
        do { key = try read() } catch {
            var failure = refusal("\(error)")
            failure.needsPIN = error == .needsPIN
            throw failure
        }
        let algorithms = Self.preferred.filter { algorithm in only.map(algorithm.isNamed) ?? true }
        guard !algorithms.isEmpty else { throw refusal("its algorithm is not supported") }
        keys = algorithms.compactMap { algorithm in try? SigningKey(key, algorithm) }
        guard !keys.isEmpty else {
            throw refusal("expected one that signs with \(only ?? "any algorithm"), found another")
        }
        if let key = keys.first, key.isElsewhere {
            do { _ = try key.sign([]) } catch { throw refusal("\(error)") }
        }
        self.keyID = keyID
    }

    /// The order of preference if the provider lists no algorithms. All providers support RS256; the others depend on
    /// the type of the key.
    private static let preferred: [SignatureAlgorithm] = [
        .rs256, .ps256, .es256, .es384, .es512, .edDSA, .ed25519, .rs384, .rs512, .ps384, .ps512, .mlDSA44,
        .mlDSA65, .mlDSA87,
    ]

    /// The public key as a JWK, for registration at the provider (RFC 7591 §2 `jwks`).
    public var publicJWK: JSON {
        var key = keys[0].publicKey
        (key.kid, key.alg) = (keyID, keys.count == 1 ? key.alg : nil)
        return key.json
    }

    /// The private key, if a device uses it.
    package var deviceKey: PrivateKey? { keys.first { $0.isElsewhere }?.key }

    /// Returns the key for an algorithm that the provider lists, or the preferred one if it lists none.
    package func signingKey(_ algorithms: [String]?) -> SigningKey? {
        guard let algorithms else { return keys.first }
        return keys.first { algorithms.contains($0.algorithm.rawValue) }
    }

    /// Signs claims for an algorithm that the provider lists, or the preferred one if it lists none; nil if the key has no
    /// such algorithm. A device signs on a thread of its own.
    func sign(_ claims: JSON, type: String, algorithms: [String]?) async throws -> String? {
        guard let key = signingKey(algorithms) else { return nil }
        var header: JSON.Object = ["typ": .string(type)]
        header["kid"] = keyID.map(JSON.string)
        guard key.isElsewhere else { return try JWS.sign(claims, header: header, with: key) }
        return try await OwnThread().run { [header] in try JWS.sign(claims, header: header, with: key) }
    }
}

extension ClientKey: CustomStringConvertible, CustomReflectable {
    /// The key's name, without the key.
    public var description: String { "client key\(keyID.map { " \($0.foundText)" } ?? "")" }
    /// A mirror without children, so that `dump` prints no more.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Environment {
    /// Finds the key of a client that authenticates with ``ClientAuthentication/privateKeyJWT(keyNamed:audience:)``. Called
    /// for each request to the token endpoint and similar endpoints.
    public var clientKey: @Sendable (_ name: String) async throws -> ClientKey {
        get { self[ClientKeySource.self].find }
        set { self[ClientKeySource.self].find = newValue }
    }
}

private struct ClientKeySource: EnvironmentKey, Sendable {
    var find: @Sendable (String) async throws -> ClientKey

    static let defaultValue = ClientKeySource { name in
        throw AuthError(
            .invalidConfiguration, .configuration,
            "expected Environment.clientKey to return the key \(name.foundText), found none")
    }
}
