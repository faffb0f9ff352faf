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
    /// The file that is being written, or the room reserved for it: bytes of zero. If a process dies, it is left behind. The
    /// next process that holds the lock writes to it, removes it, or renames it if it holds new tokens.
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
        if let record { try write(encode(record)) } else { try file.remove(with: new) }
        return result
    }

    /// Reads the session, and reserves room for new tokens. A disk that fills up after a refresh token was sent would cost the
    /// session. The caller must hold the lock.
    func prepare(_ commitment: Commitment) throws -> AuthStateRecord? {
        try file.requireReplaceable()
        guard let record = try recovered(read()) else { return nil }
        let size = try encode(record).count + Self.growth
        try commitment.make()
        let descriptor = try file.open(new: new).descriptor
        defer { close(descriptor) }
        let error = posix_fallocate(descriptor, 0, off_t(size))
        // If the file system does not support reservation, go on: the write itself may still fail.
        guard [ENOSPC, EDQUOT, EFBIG].contains(error) else { return record }
        unlink(new)
        throw file.failure("has no room for new tokens", error)
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
        if case .room? = try? remains() { unlink(new) } else { _ = try AsideFile.move(new, location: location) }
        try file.secure()
        return aside
    }

    /// Completes the work of a process that died after it wrote new tokens and before it renamed the file. Only the holder of
    /// the lock writes the file, so a complete one is newer than the session. The provider accepts only these tokens then.
    private func recovered(_ old: AuthStateRecord?) throws -> AuthStateRecord? {
        switch try remains() {
        case .nothing: return old
        case .room where old != nil: return old
        case .record(let left)
        where left.id == old?.id && left.refreshToken != nil && left.refreshToken != old?.refreshToken:
            try file.put(new)
            return left
        case .room, .record, .damage:
            unlink(new)
            return old
        }
    }

    private enum Remains { case nothing, room, record(AuthStateRecord), damage }

    /// What lies in place of the new file. If it only cannot be read now, the call throws and the file stays: too many
    /// files are open, or a network file system does not respond.
    private func remains() throws -> Remains {
        do {
            return try file.read(at: new) { bytes -> Remains in
                if bytes.first == 0 { return .room }
                return try decode(bytes).map { .record($0) } ?? .damage
            } ?? .nothing
        } catch let error as AuthError where error.storeProblem == .damaged { return .damage }
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
