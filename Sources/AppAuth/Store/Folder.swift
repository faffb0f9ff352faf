internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// The folder that contains a file of a store.
package struct Folder: Sendable {
    let path: String
    /// The store or the file, for messages.
    let location: String
    /// fsync(2), or a replacement for it.
    private let fsync: @Sendable (Int32) -> Int32

    init(of file: String, location: String, synchronise fsync: @escaping @Sendable (Int32) -> Int32) {
        (path, self.location, self.fsync) = (Self.parent(of: file), location, fsync)
    }

    package init(of file: String, location: String) {
        self.init(of: file, location: location) { Glibc.fsync($0) }
    }

    static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Creates the missing folders, accessible only to this user.
    package func make() throws {
        try requireOwner()
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
        try requireOwner()
        let candidate = existing
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
        let obstacle = ByteLock.obstacle(descriptor)
        if obstacle != 0 { throw AuthError.unlocked("a file in \(candidate)", location, errno: obstacle) }
        let error = posix_fallocate(descriptor, 0, off_t(bytes))
        guard ![ENOSPC, EDQUOT, EFBIG].contains(error) else {
            throw AuthError.store(location, "has no room for a session", errno: error)
        }
    }

    /// The folder, or its closest existing parent.
    private var existing: String {
        var candidate = path
        while access(candidate, F_OK) != 0, errno == ENOENT, candidate != Self.parent(of: candidate) {
            candidate = Self.parent(of: candidate)
        }
        return candidate
    }

    /// Throws if root would write into a folder of another user, as `sudo` with that user's home folder does. The user
    /// could not read the files, and could redirect root with links.
    ///
    /// So the folders above, and links to them, may not be that user's either, who can put a link in place of the next one.
    package func requireOwner() throws {
        guard geteuid() == 0 else { return }
        if let error = ofAnotherUser { throw error }
        let existing = existing
        for path in [existing, (try? realPath(existing)) ?? existing] {
            var candidate = path.hasPrefix("/") ? path : "./" + path
            while candidate != "/", candidate != "." {
                if let error = error(ifAnothers: candidate, followingLink: false) { throw error }
                candidate = Self.parent(of: candidate)
            }
        }
    }

    /// The error that the folder, or its closest existing parent, belongs to another user than this one and root; nil if
    /// it does not. A file of that user is not damaged, and is not set aside. It preserves `errno`.
    package var ofAnotherUser: AuthError? {
        let error = errno
        defer { errno = error }
        return self.error(ifAnothers: existing, followingLink: true)
    }

    private func error(ifAnothers folder: String, followingLink: Bool) -> AuthError? {
        var found = stat()
        guard (followingLink ? stat(folder, &found) : lstat(folder, &found)) == 0,
            ![0, geteuid()].contains(found.st_uid),
            // A folder above may be root’s, without a number in this namespace.
            followingLink || found.st_uid != UserNamespace.anyOtherUser || UserNamespace.hasEveryUser
        else { return nil }
        return AuthError(
            .store, .store, "\(location) is in a folder of another user, \(folder): \(Self.wayOut)", outcome: .notSent)
    }

    private static let wayOut = "run this as that user, without sudo, or name another folder"

    /// Whether only this user and root can replace files here.
    var isSafe: Bool {
        var status = stat()
        guard stat(path, &status) == 0, [0, geteuid()].contains(status.st_uid) else { return false }
        return status.st_mode & 0o022 == 0 || status.st_mode & S_ISVTX != 0
    }

    /// Returns the name of the file at a path, if it has another one there: a file system that does not tell capital letters
    /// apart (vfat, CIFS, folders of ext4 with `chattr +F`) opens the file of another session. Nil on other file systems.
    func otherName(for path: String, _ found: stat) -> String? {
        let name = path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
        let swapped = String(decoding: name.utf8.map { $0.isASCIILetter ? $0 ^ 0x20 : $0 }, as: UTF8.self)
        var status = stat()
        guard lstat("\(self.path)/\(swapped)", &status) == 0, status.st_ino == found.st_ino,
            status.st_dev == found.st_dev, let names = try? FolderNames.read(self.path), !names.contains(name)
        else { return nil }
        return names.first { $0.lowercased() == name.lowercased() }
    }

    /// Returns what the user can do if the mode of a file, or of a folder above it, forbids to open it. Nil if that is
    /// unknown.
    static func remedy(ifDenied path: String) -> String? {
        var denied = path
        while isOurs(denied) == nil, denied != parent(of: denied) { denied = parent(of: denied) }
        var status = stat()
        guard let isOurs = isOurs(denied), lstat(denied, &status) == 0 else { return nil }
        guard isOurs else {
            let isInHome = (try? HomeFolder.path(for: denied)).map { denied.hasPrefix($0 + "/") } ?? false
            guard status.st_uid == 0, isInHome else { return "\(denied) belongs to another user: \(wayOut)" }
            let line = ["sudo", "chown", "-R", "\(geteuid())", denied].shellLine
            return "\(denied) belongs to root, perhaps since a command with sudo. To take it back: \(line)"
        }
        let mode = status.st_mode & S_IFMT == S_IFDIR ? "700" : "600"
        return "To restore its mode: \(["chmod", mode, denied].shellLine)"
    }

    /// Returns whether this user owns the file at a path, or nil if that is unknown. It preserves `errno`.
    package static func isOurs(_ path: String) -> Bool? {
        let error = errno
        defer { errno = error }
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_uid == geteuid() : nil
    }

    /// Synchronises the folder. A rename is durable only after that.
    package func synchronise() throws {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw AuthError.store(location, "cannot be synchronised", errno: errno) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || errno == EINVAL else {
            throw AuthError.store(location, "cannot be synchronised", errno: errno)
        }
    }
}

extension AuthError {
    /// Returns the error of a file or folder that cannot be opened, with what the user can do.
    package static func unopened(_ path: String, _ location: String, _ what: String, errno code: Int32) -> AuthError {
        var error = AuthError.store(location, what, errno: code)
        if code == EACCES, let remedy = Folder.remedy(ifDenied: path) { error.message += ". \(remedy)" }
        return error
    }

    /// Returns the error of a file that the system does not lock.
    static func unlocked(_ path: String, _ location: String, errno code: Int32) -> AuthError {
        var error = AuthError.store(location, "cannot be locked by \(path)", errno: code)
        // gVisor and a few other systems have no such locks (F_OFD_SETLK).
        if [EINVAL, ENOSYS, EOPNOTSUPP].contains(code) {
            error.message += ". This system has no locks of open files: store the session in a keyring instead"
        }
        // A network file system without its service for locks.
        if code == ENOLCK { error.message += ". Store the session on a local disk, or in a keyring" }
        return error
    }

    /// Returns an error of a store with the system's message.
    package static func store(_ location: String, _ what: String, errno code: Int32) -> AuthError {
        AuthError(
            .store, .store, "\(location) \(what): \(SystemError.text(code))", outcome: .notSent,
            isTemporary: [
                ENOSPC, EDQUOT, EIO, EMFILE, ENFILE, ENOMEM,
                // Errors of a network file system whose server does not respond.
                ESTALE, ETIMEDOUT, ENOTCONN, EHOSTDOWN,
            ].contains(code))
    }
}
