internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession
internal import Glibc
internal import JOSE

/// The file of a ``FileTokenStore``. The caller that holds the lock reads and replaces it.
struct SessionFile: Sendable {
    let path: String
    /// The store, for messages.
    let location: String
    /// The limit for reading and writing, in bytes. Every record that is written can be read again.
    let largestRecord: Int
    let cipher: RecordCipher
    /// fsync(2), or a replacement for it.
    let synchronise: @Sendable (Int32) -> Int32
    let folder: Folder
    /// Whether a power cut could still undo a change, since the folder was not synchronised after it.
    let isUnsafe: LockedValue<Bool>

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
            if isUnsafe.withLock({ $0 }) { try secure() }
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
            guard unlink(path) == 0 || errno == ENOENT else { throw failure("cannot be removed") }
            unlink(new)
            try secure()
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
        try secure()
        return aside
    }

    /// Reserves room for new tokens. A disk that fills up after a refresh token was presented would cost the session.
    private func reserve(_ size: Int) throws {
        let descriptor = try openNew().descriptor
        defer { close(descriptor) }
        let error = posix_fallocate(descriptor, 0, off_t(size))
        // If the file system does not support reservation, go on: the write itself may still fail.
        guard [ENOSPC, EDQUOT, EFBIG].contains(error) else { return }
        unlink(new)
        throw failure("has no room for new tokens", error)
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
        guard rename(new, path) == 0 else { throw failure("cannot be replaced") }
        try secure()
        return left
    }

    /// Returns the record that a dead process left, if it is complete. If it only cannot be read now, the call throws
    /// and the file stays: too many files are open, or a network file system does not respond.
    private func remains() throws -> AuthStateRecord? {
        do { return try read(at: new, synchronising: true) } catch let error as AuthError
            where error.storeProblem == .damaged
        { return nil }
    }

    /// Whether the file is reserved room that was not written to.
    private var isRoom: Bool {
        let descriptor = open(new, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard let bytes = try? contents(of: descriptor), !bytes.isEmpty else { return false }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// Synchronises the folder, since a rename or removal is not durable before that.
    private func secure() throws {
        isUnsafe.withLock { $0 = true }
        try folder.synchronise()
        isUnsafe.withLock { $0 = false }
    }

    /// Returns the session, or nil if there is no file.
    func read() throws -> AuthStateRecord? { try read(at: path) }

    private func read(at path: String, synchronising: Bool = false) throws -> AuthStateRecord? {
        // O_NONBLOCK: a named pipe in place of the file must not block the call.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return nil }
        if descriptor < 0, errno == ELOOP { throw refusal("is a symbolic link") }
        if descriptor < 0, errno == EACCES, let isOurs = Folder.isOurs(path), !isOurs {
            throw foreign
        }
        guard descriptor >= 0 else { throw AuthError.unopened(path, location, "cannot be opened", errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("cannot be opened") }
        let type = status.st_mode & S_IFMT
        // Report a device as a failure, not as damaged, so that ``discard(_:)`` does not rename it.
        guard type != S_IFCHR, type != S_IFBLK else { throw failure("is a device", EINVAL) }
        guard type == S_IFREG else { throw refusal("is not a regular file") }
        guard status.st_uid == geteuid() else { throw foreign }
        guard status.st_size <= largestRecord else { throw refusal("is too large for a session") }
        let record = try decode(contents(of: descriptor))
        if synchronising, synchronise(descriptor) != 0 { throw failure("cannot be synchronised") }
        // If the file was made readable for others, restore its mode.
        if status.st_mode & 0o077 != 0 { fchmod(descriptor, 0o600) }
        return record
    }

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
        else { throw refusal("is not a complete encrypted session") }
        return try cipher.open(SealedRecord(bytes: sealed, keyID: id), in: "", from: location)
    }

    private func contents(of descriptor: Int32) throws -> [UInt8] {
        do { return try InputFile.contents(of: descriptor, atMost: largestRecord) } catch .system(let error) {
            throw failure("cannot be read", error)
        } catch { throw refusal("is too large for a session") }
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
        do {
            try writeNew(bytes)
            guard rename(new, path) == 0 else { throw failure("cannot be replaced") }
        } catch {
            unlink(new)
            throw error
        }
        try secure()
    }

    private func writeNew(_ bytes: [UInt8]) throws {
        let (descriptor, size) = try openNew()
        defer { close(descriptor) }
        // Truncate first, and not to zero: the file keeps its room, and it is complete with its last byte.
        guard size <= bytes.count || ftruncate(descriptor, off_t(bytes.count)) == 0 else {
            throw failure("cannot be written")
        }
        do { try OutputFile.write(bytes, to: descriptor) } catch { throw failure("cannot be written", error.number) }
        guard synchronise(descriptor) == 0 else { throw failure("cannot be written") }
    }

    /// Opens the file to write: the reserved room, or a new file that replaces anything else.
    private func openNew() throws -> (descriptor: Int32, size: Int) {
        let flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let room = open(new, flags)
        if room >= 0 {
            var status = stat()
            if fstat(room, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_nlink == 1, fchmod(room, 0o600) == 0
            {
                return (room, status.st_size)
            }
            close(room)
        } else if errno != ENOENT {
            let error = failure("cannot be written")
            guard !error.isTemporary else { throw error }
        }
        let removal = unlink(new) == 0 ? EEXIST : errno
        let descriptor = open(new, flags | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else {
            // A folder, or in a shared folder another user's file.
            if errno == EEXIST { throw failure("cannot be written, since \(new) cannot be removed", removal) }
            throw failure("cannot be written")
        }
        return (descriptor, 0)
    }

    private func failure(_ what: String, _ error: Int32 = errno) -> AuthError { .store(location, what, errno: error) }

    private var foreign: AuthError { folder.ofAnotherUser ?? refusal("belongs to another user") }

    private func refusal(_ what: String) -> AuthError { .damagedStore(location, what) }
}
