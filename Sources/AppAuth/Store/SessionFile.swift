internal import AppAuthProtocol
internal import AppAuthSession
internal import Glibc
internal import JOSE

/// The file of a ``FileTokenStore``: how it is read and replaced, by whoever holds the lock.
struct SessionFile: Sendable {
    let path: String
    /// The store, for messages.
    let location: String
    /// In bytes; for reading and for writing, so that whatever is written can be read again.
    let largestRecord: Int
    let folder: Folder
    /// Whether there is a change that a power cut could still undo, since the folder was not synchronised after it.
    let isUnsafe: LockedValue<Bool>

    /// What is being written, or the room for it. A process that dies leaves it behind; the next to hold the lock writes
    /// there or removes it, or puts it in its place if it holds new tokens.
    private var new: String { path + ".new" }
    /// By how many bytes the tokens that come may be longer than those that there are.
    private static let growth = 16 << 10

    /// Reads, changes and writes the session. The lock has to be held.
    ///
    /// - Parameter commitment: Made before anything is written.
    func update<Result>(
        _ change: (inout AuthStateRecord?) throws -> Result, _ commitment: Commitment
    ) throws -> Result {
        let old = try recovered(read())  // refuses what is no session
        var record = old
        let result = try change(&record)
        try commitment.make()
        guard record != old else {
            // Who stored this was told that it failed, and asks again.
            if isUnsafe.withLock({ $0 }) { try secure() }
            return result
        }
        if let record {
            let bytes = try record.encoded()
            try write(bytes)
            if let old, old.id == record.id, record.pendingRefresh != nil, record.pendingRefresh != old.pendingRefresh {
                do { try reserve(bytes.count + Self.growth) } catch {
                    // Nothing is presented then.
                    try? write(old.encoded())
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

    /// Renames what is there if it is no session, and what a dead process has left beside it. The lock has to be held.
    ///
    /// - Returns: The new path; nil if there is nothing, or a session that can be read.
    func discard(_ commitment: Commitment) throws -> String? {
        do {
            _ = try read()
            return nil
        } catch let error as AuthError where error.storeProblem == .damaged {}
        try commitment.make()
        let aside = try AsideFile.move(path, location: location)
        if isRoom { unlink(new) } else { _ = try AsideFile.move(new, location: location) }
        try secure()
        return aside
    }

    /// Takes the room for the tokens that come. Once a refresh token has been presented, a disk that others have filled
    /// would cost the session.
    private func reserve(_ size: Int) throws {
        let descriptor = try openNew().descriptor
        defer { close(descriptor) }
        let error = posix_fallocate(descriptor, 0, off_t(size))
        // A file system that cannot do it at all is tried when they come.
        guard [ENOSPC, EDQUOT, EFBIG].contains(error) else { return }
        unlink(new)
        throw failure("has no room for new tokens", error)
    }

    /// Ends the work of a process that has died after it had written new tokens and before they were in the place of the
    /// session: the provider honours these alone by then, since the one in the session was presented for them.
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

    /// What a dead process has left, if it is whole. What only cannot be read now is kept: too many files are open, or a
    /// network file system does not answer.
    private func remains() throws -> AuthStateRecord? {
        do { return try read(at: new, synchronising: true) } catch let error as AuthError
            where error.storeProblem == .damaged
        { return nil }
    }

    /// Whether it is the room that was taken, as it was taken.
    private var isRoom: Bool {
        let descriptor = open(new, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        guard let bytes = try? contents(of: descriptor), !bytes.isEmpty else { return false }
        return bytes.allSatisfy { $0 == 0 }
    }

    /// A name that is new or gone is safe when the folder is.
    private func secure() throws {
        isUnsafe.withLock { $0 = true }
        try folder.synchronise()
        isUnsafe.withLock { $0 = false }
    }

    /// The session; nil if there is no file.
    func read() throws -> AuthStateRecord? { try read(at: path) }

    private func read(at path: String, synchronising: Bool = false) throws -> AuthStateRecord? {
        // O_NONBLOCK: a named pipe in the place of the file must not hold us up.
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return nil }
        if descriptor < 0, errno == ELOOP { throw refusal("is a symbolic link") }
        if descriptor < 0, errno == EACCES, let isOurs = Folder.isOurs(path), !isOurs {
            throw refusal("belongs to another user")
        }
        guard descriptor >= 0 else { throw failure("cannot be opened") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("cannot be opened") }
        let type = status.st_mode & S_IFMT
        // A device is not ours to rename.
        guard type != S_IFCHR, type != S_IFBLK else { throw failure("is a device", EINVAL) }
        guard type == S_IFREG else { throw refusal("is no regular file") }
        guard status.st_uid == geteuid() else { throw refusal("belongs to another user") }
        guard status.st_size <= largestRecord else { throw refusal("is too large for a session") }
        let record = try AuthStateRecord(decoding: contents(of: descriptor), from: location)
        if synchronising, fsync(descriptor) != 0 { throw failure("cannot be synchronised") }
        // Whoever opened the file to others since: tokens are nobody else's.
        if status.st_mode & 0o077 != 0 { fchmod(descriptor, 0o600) }
        return record
    }

    private func contents(of descriptor: Int32) throws -> [UInt8] {
        do { return try InputFile.contents(of: descriptor, atMost: largestRecord) } catch .system(let error) {
            throw failure("cannot be read", error)
        } catch { throw refusal("is too large for a session") }
    }

    /// Writes beside the file, and puts what is written in its place.
    private func write(_ bytes: [UInt8]) throws {
        guard bytes.count <= largestRecord else {
            throw AuthError(
                .store, .store,
                "\(location) can take \(largestRecord) bytes, and the session has \(bytes.count); it is left as it is",
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
        // First, and not to nothing: so it keeps its room, and with its last byte it is whole.
        guard size <= bytes.count || ftruncate(descriptor, off_t(bytes.count)) == 0 else {
            throw failure("cannot be written")
        }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw failure("cannot be written") }
            rest = rest.dropFirst(written)
        }
        guard fsync(descriptor) == 0 else { throw failure("cannot be written") }
    }

    /// Opens what is to be written: the room that was taken for it, or a new file in place of whatever is there.
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
        } else {
            let error = failure("cannot be written")
            guard !error.isTemporary else { throw error }
        }
        unlink(new)
        let descriptor = open(new, flags | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be written") }
        return (descriptor, 0)
    }

    private func failure(_ what: String, _ error: Int32 = errno) -> AuthError { .store(location, what, errno: error) }

    private func refusal(_ what: String) -> AuthError { .damagedStore(location, what) }
}
