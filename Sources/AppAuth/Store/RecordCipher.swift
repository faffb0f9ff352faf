internal import AppAuthProtocol
package import AppAuthSession
internal import JOSE

/// Encrypts and decrypts stored sessions. The first key encrypts, and all of them decrypt.
package struct RecordCipher: Sendable {
    let keys: [SessionEncryptionKey]
    /// Whether records that are not encrypted are read although there are keys.
    let readsPlaintext: Bool

    package init(keys: [SessionEncryptionKey], readsPlaintext: Bool = false) {
        (self.keys, self.readsPlaintext) = (keys, readsPlaintext)
    }

    /// - Parameter place: What the record is bound to: in another place, it is not authentic. Empty for none.
    package func seal(_ record: AuthStateRecord?, in place: String) throws -> SealedRecord {
        guard let record else { return SealedRecord() }
        let plaintext = try record.encoded()
        guard let key = try keys.first?.forWriting() else { return SealedRecord(bytes: plaintext) }
        let nonce = try randomBytes(12)
        let aad = associatedData(key.id, place)
        guard let (ciphertext, tag) = ContentEncryption.a256GCM.seal(plaintext, key: key.bytes, iv: nonce, aad: aad)
        else { throw JOSEError("libcrypto could not encrypt") }
        return SealedRecord(bytes: nonce + ciphertext + tag, keyID: key.id)
    }

    /// - Throws: ``AuthError`` with ``StoreProblem/encryption`` if there is no key of this name, with
    ///   ``StoreProblem/notEncrypted`` if the record is not encrypted although there are keys, and with
    ///   ``StoreProblem/damaged`` if it was not sealed in this place.
    package func open(_ sealed: SealedRecord, in place: String, from location: String) throws -> AuthStateRecord? {
        guard let bytes = sealed.bytes else { return nil }
        guard let id = sealed.keyID else {
            let record = try AuthStateRecord(decoding: bytes, from: location)
            // Anyone who can write there could have put it there.
            guard keys.isEmpty || readsPlaintext else {
                throw AuthError.store(location, "is not encrypted, though there are keys", .notEncrypted)
            }
            return record
        }
        var key: [UInt8]?
        do {
            for candidate in keys where key == nil { key = try candidate.bytes(for: id) }
        } catch var error as AuthError {
            (error.message, error.storeProblem) = ("\(location) is encrypted: \(error.message)", .encryption)
            throw error
        }
        guard let key else {
            let what =
                PassphraseKeys.areOwn(id)
                ? "a passphrase that was not given"
                : "the key \(id.foundText), which is not among the keys given"
            throw AuthError.store(location, "is encrypted with \(what)", .encryption)
        }
        guard bytes.count >= 28,
            let plaintext = ContentEncryption.a256GCM.open(
                Array(bytes[12..<(bytes.count - 16)]), tag: Array(bytes.suffix(16)), key: key,
                iv: Array(bytes.prefix(12)), aad: associatedData(id, place))
        else {
            throw AuthError.damagedStore(location, "cannot be decrypted with the key \(id.foundText)")
        }
        return try AuthStateRecord(decoding: plaintext, from: location)
    }

    /// Binds a record to its place and to the name of its key.
    private func associatedData(_ id: String, _ place: String) -> [UInt8] {
        Array("swift-appauth session 1 \(id.utf8.count) \(id)\(place)".utf8)
    }
}

extension AuthError {
    fileprivate static func store(_ location: String, _ why: String, _ problem: StoreProblem) -> AuthError {
        var error = AuthError(.store, .store, "\(location) \(why)", outcome: .notSent)
        error.storeProblem = problem
        return error
    }
}
