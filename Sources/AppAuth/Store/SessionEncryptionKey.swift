internal import AppAuthConcurrency
public import AppAuthProtocol
internal import Glibc
internal import JOSE

/// A key that encrypts stored sessions: AES-256-GCM by libcrypto.
public struct SessionEncryptionKey: Sendable {
    private enum Source {
        case bytes(id: String, [UInt8])
        case passphrase(PassphraseKeys)
        case missing(AuthError)
    }

    private let source: Source

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - id: The name of the key, which is stored with each session.
    ///   - bytes: 32 random bytes.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for a key of another length, without a name, or
    ///   with a name that begins with `scrypt:`.
    public init(id: String, bytes: [UInt8]) throws {
        guard bytes.count == ContentEncryption.a256GCM.keyByteCount, !id.isEmpty, !PassphraseKeys.areOwn(id) else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected an encryption key of 32 bytes, with a name that does not begin with scrypt:, found \(id.foundText) with "
                    + "\(bytes.count) bytes")
        }
        source = .bytes(id: id, bytes)
    }

    /// Creates a key from a passphrase with scrypt (RFC 7914). The first use takes about 0.2 s and 32 MiB of memory.
    ///
    /// The salt and a check of the key are stored with each session, so a wrong passphrase is reported as such.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for an empty passphrase.
    public init(passphrase: Secret) throws {
        guard !passphrase.reveal().isEmpty else {
            throw AuthError(.invalidConfiguration, .configuration, "expected a passphrase, found an empty one")
        }
        source = .passphrase(PassphraseKeys(passphrase))
    }

    /// Reads a key from a credential of a systemd service: the file `NAME` in `$CREDENTIALS_DIRECTORY`, with 32 random
    /// bytes (`LoadCredential=` and `LoadCredentialEncrypted=`, systemd.exec(5)). The name becomes that of the key.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if there is no such credential, or if it does
    ///   not have 32 bytes.
    public init(systemdCredential name: String) throws {
        try self.init(
            systemdCredential: name, in: getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) })
    }

    package init(systemdCredential name: String, in folder: String?) throws {
        func refusal(_ why: String) -> AuthError {
            AuthError(
                .invalidConfiguration, .configuration,
                "the systemd credential \(name.foundText) cannot be read: \(why). Check the unit’s LoadCredential=")
        }
        guard let folder else { throw refusal("$CREDENTIALS_DIRECTORY is not set") }
        guard !name.contains("/") else { throw refusal("expected the name of a file") }
        let bytes: [UInt8]
        do { bytes = try InputFile.read("\(folder)/\(name)", atMost: 1024) } catch {
            throw refusal(error.description)
        }
        try self.init(id: name, bytes: bytes)
    }

    /// Creates a key that the user has not given. It neither encrypts nor decrypts, but throws this error.
    package init(missing error: AuthError) { source = .missing(error) }

    /// Returns the key with this name, or nil if this is another one.
    ///
    /// - Throws: ``JOSEError`` if the key cannot be derived; the error of a missing key.
    func bytes(for id: String) throws -> [UInt8]? {
        switch source {
        case .bytes(let own, let bytes): own == id ? bytes : nil
        case .passphrase(let keys): try keys.bytes(for: id)
        case .missing(let error): throw error
        }
    }

    /// Returns the key for a new record, and its name.
    func forWriting() throws -> (id: String, bytes: [UInt8]) {
        switch source {
        case .bytes(let id, let bytes): (id, bytes)
        case .passphrase(let keys): try keys.forWriting()
        case .missing(let error): throw error
        }
    }
}

/// The keys that were derived from a passphrase, one for each salt. The name of a key is `scrypt:SALT:CHECK`.
final class PassphraseKeys: Sendable {
    typealias Key = (id: String, bytes: [UInt8])

    private static let prefix = "scrypt:"
    private let passphrase: Secret
    /// The keys by their salts, and the latest one whose check was right.
    private let derived = LockedValue<(bySalt: [[UInt8]: Key], forWriting: Key?)>(([:], nil))

    init(_ passphrase: Secret) { self.passphrase = passphrase }

    static func areOwn(_ id: String) -> Bool { id.hasPrefix(prefix) }

    func bytes(for id: String) throws -> [UInt8]? {
        guard Self.areOwn(id), let salt = id.dropFirst(Self.prefix.count).split(separator: ":").first,
            let salt = Base64URL.decode(String(salt)), salt.count == 16
        else { return nil }
        let key = try key(salt)
        guard constantTimeEqual(Array(key.id.utf8), Array(id.utf8)) else { return nil }
        derived.withLock { $0.forWriting = key }
        return key.bytes
    }

    /// Reuses the salt of a session that was read, so that each process derives one key.
    func forWriting() throws -> (id: String, bytes: [UInt8]) {
        if let known = derived.withLock({ $0.forWriting }) { return known }
        let key = try key(randomBytes(16))
        derived.withLock { $0.forWriting = key }
        return key
    }

    private func key(_ salt: [UInt8]) throws -> Key {
        if let known = derived.withLock({ $0.bySalt[salt] }) { return known }
        let bytes = try Scrypt.derive(40, from: Array(passphrase.reveal().utf8), salt: salt)
        // The check tells only what decrypting a session with the key would tell, too.
        let id = Self.prefix + Base64URL.encode(salt) + ":" + Base64URL.encode(Array(bytes[32...]))
        let key = (id: id, bytes: Array(bytes[..<32]))
        derived.withLock { derived in
            // Salts come from files. A few are enough: each session has one.
            if derived.bySalt.count >= 16 { derived.bySalt = [:] }
            derived.bySalt[salt] = key
        }
        return key
    }
}
