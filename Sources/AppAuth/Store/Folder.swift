internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The folder that something of a store lies in.
struct Folder: Sendable {
    let path: String
    /// The store, for messages.
    let location: String
    /// fsync(2), for its descriptor.
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

    /// Makes those that are missing, for this user alone.
    func make() throws {
        var missing: [String] = []
        var candidate = path[...]
        while !candidate.isEmpty, access(String(candidate), F_OK) != 0, errno == ENOENT {
            missing.append(String(candidate))
            candidate = candidate.lastIndex(of: "/").map { candidate[..<$0] } ?? ""
        }
        for folder in missing.reversed() {
            guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
                throw AuthError.store(location, "has no folder, and none can be made", errno: errno)
            }
            try Folder(of: folder, location: location, synchronise: fsync).synchronise()
        }
    }

    /// Tries whether a file could be made here, or in the folder that this one would be made in, and leaves nothing.
    ///
    /// - Parameter bytes: How large it would be.
    func probe(bytes: Int) throws {
        var candidate = path
        while access(candidate, F_OK) != 0, errno == ENOENT, candidate != Self.parent(of: candidate) {
            candidate = Self.parent(of: candidate)
        }
        // A file without a name, which goes with its descriptor.
        let descriptor = shims_open_unnamed(candidate)
        if descriptor < 0, [EOPNOTSUPP, EISDIR, EINVAL].contains(errno) {
            // A file system that has none such says less.
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

    /// Whether what has a path belongs to this user; nil if that cannot be seen. Leaves `errno` as it is.
    static func isOurs(_ path: String) -> Bool? {
        let error = errno
        defer { errno = error }
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid == geteuid() : nil
    }

    /// A rename is safe only when the folder that holds the name is.
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
    /// An error of a store, with what the system says.
    static func store(_ location: String, _ what: String, errno code: Int32) -> AuthError {
        AuthError(
            .store, .store, "\(location) \(what): \(SystemError.text(code))", outcome: .notSent,
            isTemporary: [
                ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM,
                // A network file system whose server does not answer.
                ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN,
            ].contains(code))
    }
}
