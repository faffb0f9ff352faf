internal import AppAuthProtocol
internal import AppAuthSession
internal import JOSE

/// A key that encrypts sessions in a database: AES-256-GCM by libcrypto.
public struct SessionEncryptionKey: Sendable {
    /// The name of the key, which is stored with each session.
    public let id: String
    fileprivate let bytes: [UInt8]

    /// Creates a key.
    ///
    /// - Parameter bytes: 32 random bytes.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for a key of another length or without a name.
    public init(id: String, bytes: [UInt8]) throws {
        guard bytes.count == ContentEncryption.a256GCM.keyByteCount, !id.isEmpty else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected an encryption key of 32 bytes with a name, found '\(id)' with \(bytes.count) bytes",
                outcome: .notSent)
        }
        (self.id, self.bytes) = (id, bytes)
    }
}

/// What a row contains of a session.
struct SealedRecord: Equatable, Sendable {
    /// The session as JSON, or a nonce of 12 bytes, the ciphertext and a tag of 16 bytes; nil if there is no session.
    var bytes: [UInt8]?
    var keyID: String?
}

/// Encrypts and decrypts the records of a table. The first key encrypts, and all of them decrypt.
struct RecordCipher: Sendable {
    let keys: [SessionEncryptionKey]
    /// Whether records that are not encrypted are read although there are keys.
    let readsPlaintext: Bool

    func seal(_ record: AuthStateRecord?, rowKey: String) throws -> SealedRecord {
        guard let record else { return SealedRecord() }
        let plaintext = try record.encoded()
        guard let key = keys.first else { return SealedRecord(bytes: plaintext) }
        let nonce = try randomBytes(12)
        let aad = associatedData(key.id, rowKey)
        guard let (ciphertext, tag) = ContentEncryption.a256GCM.seal(plaintext, key: key.bytes, iv: nonce, aad: aad)
        else { throw JOSEError("libcrypto could not encrypt") }
        return SealedRecord(bytes: nonce + ciphertext + tag, keyID: key.id)
    }

    /// - Throws: ``AuthError`` with ``StoreProblem/damaged`` if the record is not one that ``seal(_:rowKey:)`` has made for
    ///   this row with one of the keys.
    func open(_ sealed: SealedRecord, rowKey: String, from location: String) throws -> AuthStateRecord? {
        guard let bytes = sealed.bytes else { return nil }
        guard let id = sealed.keyID else {
            // Any role that can write the table could have put it there.
            guard keys.isEmpty || readsPlaintext else {
                throw AuthError.damagedStore(location, "is not encrypted, though there are keys")
            }
            return try AuthStateRecord(decoding: bytes, from: location)
        }
        guard let key = keys.first(where: { $0.id == id }) else {
            throw AuthError.damagedStore(
                location, "is encrypted with the key '\(id)', which is not among the keys given")
        }
        guard bytes.count >= 28,
            let plaintext = ContentEncryption.a256GCM.open(
                Array(bytes[12..<(bytes.count - 16)]), tag: Array(bytes.suffix(16)), key: key.bytes,
                iv: Array(bytes.prefix(12)), aad: associatedData(id, rowKey))
        else {
            throw AuthError.damagedStore(location, "cannot be decrypted with the key '\(id)'")
        }
        return try AuthStateRecord(decoding: plaintext, from: location)
    }

    /// Binds a record to its row and to the name of its key: in another row, it is not authentic.
    private func associatedData(_ id: String, _ rowKey: String) -> [UInt8] {
        Array("swift-appauth session 1 \(id.utf8.count) \(id)\(rowKey)".utf8)
    }
}
