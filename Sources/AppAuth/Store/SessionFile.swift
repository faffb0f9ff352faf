internal import AppAuthCore
internal import Glibc
internal import JOSE

/// The file of a ``FileTokenStore``: how it is read and replaced, by whoever holds the lock.
struct SessionFile: Sendable {
    let path: String
    /// The store, for messages.
    let place: String
    /// In bytes; for reading and for writing, so that whatever is written can be read again.
    let largestRecord: Int
    let folder: Folder
    /// Whether there is a change that a power cut could still undo, since the folder was not synchronised after it.
    let isUnsafe: Guarded<Bool>

    /// What is being written. A process that dies leaves it behind; the next to hold the lock removes it, or puts it in its
    /// place if it holds new tokens.
    private var new: String { path + ".new" }

    /// Reads, changes and writes the session. The lock has to be held.
    func update<Result>(_ change: (inout AuthStateRecord?) throws -> Result) throws -> Result {
        let old = try recovered(read())  // refuses what is no session
        var record = old
        let result = try change(&record)
        guard record != old else {
            // Who stored this was told that it failed, and asks again.
            if isUnsafe.withLock({ $0 }) { try secure() }
            return result
        }
        if let record {
            try write(record.encoded())
        } else {
            guard unlink(path) == 0 || errno == ENOENT else { throw failure("cannot be removed") }
            try secure()
        }
        return result
    }

    /// Ends the work of a process that has died after it had written new tokens and before they were in the place of the
    /// session: the provider honours these alone by then, since the one in the session was presented for them.
    private func recovered(_ old: AuthStateRecord?) throws -> AuthStateRecord? {
        guard let old, let token = old.refreshToken, old.presented?.fingerprint == token.fingerprint,
            let left = try remains(), left.id == old.id, left.end == nil,
            let rotated = left.refreshToken, rotated != token
        else {
            unlink(new)
            return old
        }
        guard rename(new, path) == 0 else { throw failure("cannot be replaced") }
        try secure()
        return left
    }

    /// What a dead process has left, if it is whole. What only cannot be read now (too many open files) is kept.
    private func remains() throws -> AuthStateRecord? {
        do { return try read(at: new, synchronising: true) } catch let error as AuthError where error.isTemporary {
            throw error
        } catch { return nil }
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
        guard descriptor >= 0 else { throw failure("cannot be opened") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("cannot be opened") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refusal("is no regular file") }
        guard status.st_uid == geteuid() else { throw refusal("belongs to another user") }
        guard status.st_size <= largestRecord else { throw refusal("is too large for a session") }
        let record = try AuthStateRecord(decoding: contents(of: descriptor), from: place)
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
            throw refusal("can take \(largestRecord) bytes, and the session has \(bytes.count)")
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
        let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be written") }
        defer { close(descriptor) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw failure("cannot be written") }
            rest = rest.dropFirst(written)
        }
        guard fsync(descriptor) == 0 else { throw failure("cannot be written") }
    }

    private func failure(_ what: String, _ error: Int32 = errno) -> AuthError { .store(place, what, errno: error) }

    private func refusal(_ what: String) -> AuthError {
        AuthError(.store, .store, "\(place) \(what); it is left as it is", outcome: .notSent)
    }
}
