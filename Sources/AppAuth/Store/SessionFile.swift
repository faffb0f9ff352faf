internal import AppAuthProtocol
internal import AppAuthSession
internal import Glibc
internal import JOSE

/// The file of a ``FileTokenStore``. The caller that holds the lock reads and replaces it.
struct SessionFile: Sendable {
    let file: OwnedFile
    /// The store, for messages.
    let location: String
    /// The limit for reading and writing, in bytes. Every record that is written can be read again.
    let largestRecord: Int
    let cipher: RecordCipher

    private var path: String { file.path }
    /// The file that is being written, or the room reserved for it. If a process dies, it is left behind. The next
    /// process that holds the lock writes to it, removes it, or renames it if it holds new tokens.
    private var new: String { path + ".new" }
    /// How much longer new tokens may be than the current ones, in bytes.
    private static let growth = 16 << 10

    /// Reads, changes and writes the session. The caller must hold the lock.
    ///
    /// - Parameter commitment: Made before anything is written.
    func update<Result>(
        _ change: (inout AuthStateRecord?) throws -> Result, _ commitment: Commitment
    ) throws -> Result {
        let old = try recovered(read())  // rejects a file that is not a session
        var record = old
        let result = try change(&record)
        try commitment.make()
        guard record != old else {
            // An earlier call made this change and failed to synchronise it. Its caller retries.
            try file.secureIfNecessary()
            return result
        }
        if let record {
            let bytes = try encode(record)
            try write(bytes)
            if let old, old.id == record.id, record.pendingRefresh != nil, record.pendingRefresh != old.pendingRefresh {
                do { try reserve(bytes.count + Self.growth) } catch {
                    // The refresh token is not presented then, so restore the old record.
                    try? write(encode(old))
                    throw error
                }
            }
        } else {
            try file.remove(with: new)
        }
        return result
    }

    /// Renames the file if it is not a session that can be read, and what a dead process left next to it. The caller must
    /// hold the lock.
    ///
    /// - Returns: The new path, or nil if there is no file or it is a readable session.
    func discard(_ commitment: Commitment) throws -> String? {
        do {
            _ = try read()
            return nil
        } catch let error as AuthError where [.damaged, .encryption].contains(error.storeProblem) {
            // One that is only not encrypted can be read without a key: it stays.
        }
        try commitment.make()
        let aside = try AsideFile.move(path, location: location)
        if isRoom { unlink(new) } else { _ = try AsideFile.move(new, location: location) }
        try file.secure()
        return aside
    }

    /// Reserves room for new tokens. A disk that fills up after a refresh token was presented would cost the session.
    private func reserve(_ size: Int) throws {
        let descriptor = try file.open(new: new).descriptor
        defer { close(descriptor) }
        let error = posix_fallocate(descriptor, 0, off_t(size))
        // If the file system does not support reservation, go on: the write itself may still fail.
        guard [ENOSPC, EDQUOT, EFBIG].contains(error) else { return }
        unlink(new)
        throw file.failure("has no room for new tokens", error)
    }

    /// Completes the work of a process that died after it wrote new tokens and before it renamed the file. The provider
    /// then accepts only these tokens, since the refresh token in the session was presented for them.
    private func recovered(_ old: AuthStateRecord?) throws -> AuthStateRecord? {
        guard let old, let token = old.refreshToken, old.pendingRefresh?.fingerprint == token.fingerprint else {
            unlink(new)
            return old
        }
        guard let left = try remains(), left.id == old.id, left.end == nil, let rotated = left.refreshToken,
            rotated != token
        else {
            if !isRoom { unlink(new) }
            return old
        }
        guard rename(new, path) == 0 else { throw file.failure("cannot be replaced") }
        try file.secure()
        return left
    }

    /// Returns the record that a dead process left, if it is complete. If it only cannot be read now, the call throws
    /// and the file stays: too many files are open, or a network file system does not respond.
    private func remains() throws -> AuthStateRecord? {
        do { return try file.read(at: new, synchronising: true, decode) ?? nil } catch let error as AuthError
            where error.storeProblem == .damaged
        { return nil }
    }

    /// Whether the file is reserved room that was not written to.
    private var isRoom: Bool {
        guard let bytes = try? InputFile.read(new, atMost: largestRecord), !bytes.isEmpty else { return false }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// Returns the session, or nil if there is no file.
    func read() throws -> AuthStateRecord? { try file.read(decode) ?? nil }

    /// An encrypted session is a JSON object too, whose first member tells it from one that is not encrypted.
    private static let encryptedPrefix = Array("{\"encryptedSession\":".utf8)

    private func encode(_ record: AuthStateRecord) throws -> [UInt8] {
        let sealed = try cipher.seal(record, in: "")
        guard let bytes = sealed.bytes, let id = sealed.keyID else { return try record.encoded() }
        let json: JSON = ["encryptedSession": .string(Base64URL.encode(bytes)), "key": .string(id)]
        return Array(json.serialized().utf8)
    }

    private func decode(_ bytes: [UInt8]) throws -> AuthStateRecord? {
        guard bytes.starts(with: Self.encryptedPrefix) else {
            return try cipher.open(SealedRecord(bytes: bytes), in: "", from: location)
        }
        guard let json = try? JSON(parsing: bytes), let id = json["key"]?.string,
            let sealed = json["encryptedSession"]?.string.flatMap({ Base64URL.decode($0) })
        else { throw file.refusal("is not a complete encrypted session") }
        return try cipher.open(SealedRecord(bytes: sealed, keyID: id), in: "", from: location)
    }

    /// Writes a new file next to the old one and renames it.
    private func write(_ bytes: [UInt8]) throws {
        guard bytes.count <= largestRecord else {
            throw AuthError(
                .store, .store,
                "the session has \(bytes.count) bytes, but \(location) can hold only \(largestRecord). It was not "
                    + "changed",
                outcome: .notSent)
        }
        try file.write(bytes, by: new)
    }
}
