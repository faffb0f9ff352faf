internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The folder that contains a file of a store.
struct Folder: Sendable {
    let path: String
    /// The store, for messages.
    let location: String
    /// fsync(2), or a replacement for it.
    private let fsync: @Sendable (Int32) -> Int32

    init(
        of file: String, location: String, synchronise fsync: @escaping @Sendable (Int32) -> Int32 = { Glibc.fsync($0) }
    ) {
        (path, self.location, self.fsync) = (Self.parent(of: file), location, fsync)
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Creates the missing folders, accessible only to this user.
    func make() throws {
        var missing: [String] = []
        var candidate = path[...]
        while !candidate.isEmpty, access(String(candidate), F_OK) != 0, errno == ENOENT {
            missing.append(String(candidate))
            candidate = candidate.lastIndex(of: "/").map { candidate[..<$0] } ?? ""
        }
        for folder in missing.reversed() {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw AuthError.store(location, "has no folder, and it cannot be created", errno: errno)
            }
            try Folder(of: folder, location: location, synchronise: fsync).synchronise()
        }
    }

    /// Checks whether a file can be created in this folder, or in its closest existing parent. It leaves no file.
    ///
    /// - Parameter bytes: The size of the file.
    func probe(bytes: Int) throws {
        var candidate = path
        while access(candidate, F_OK) != 0, errno == ENOENT, candidate != Self.parent(of: candidate) {
            candidate = Self.parent(of: candidate)
        }
        // An unnamed file, which disappears when its descriptor is closed.
        let descriptor = shims_open_unnamed(candidate)
        if descriptor < 0, [EOPNOTSUPP, EISDIR, EINVAL].contains(errno) {
            // The file system does not support unnamed files, so only the access rights are checked.
            guard access(candidate, W_OK | X_OK) == 0 else {
                throw AuthError.store(location, "cannot be written", errno: errno)
            }
            return
        }
        guard descriptor >= 0 else { throw AuthError.store(location, "cannot be written", errno: errno) }
        defer { close(descriptor) }
        let error = posix_fallocate(descriptor, 0, off_t(bytes))
        guard ![ENOSPC, EDQUOT, EFBIG].contains(error) else {
            throw AuthError.store(location, "has no room for a session", errno: error)
        }
    }

    /// Returns whether this user owns the file at a path, or nil if that is unknown. It preserves `errno`.
    static func isOurs(_ path: String) -> Bool? {
        let error = errno
        defer { errno = error }
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid == geteuid() : nil
    }

    /// Synchronises the folder. A rename is durable only after that.
    func synchronise() throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw AuthError.store(location, "cannot be synchronised", errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw AuthError.store(location, "cannot be synchronised", errno: errno)
        }
    }
}

extension AuthError {
    /// Returns an error of a store with the system's message.
    static func store(_ location: String, _ what: String, errno code: Int32) -> AuthError {
        AuthError(
            .store, .store, "\(location) \(what): \(SystemError.text(code))", outcome: .notSent,
            isTemporary: [
                ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM,
                // Errors of a network file system whose server does not respond.
                ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN,
            ].contains(code))
    }
}
