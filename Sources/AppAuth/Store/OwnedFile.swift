internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import CShims
internal import Glibc

/// A file that only its user can read, and that is read, replaced and removed as a whole: a session, a registered client, or
/// a small file of `sign-in`.
///
/// A symbolic link is followed if it is safe: the file stays where the user, or a program that manages such files, has put
/// it. Any other link is refused, and never replaced.
package struct OwnedFile: Sendable {
    /// The path: the given one, or where a safe link there leads to.
    package let path: String
    package let folder: Folder
    /// The store or the file, for messages.
    private let location: String
    /// The limit for reading, in bytes.
    private let limit: Int
    /// fsync(2), or a replacement for it.
    private let synchronise: @Sendable (Int32) -> Int32
    /// Whether a power cut could still undo a change, since the folder was not synchronised after it.
    private let isUnsafe: LockedValue<Bool>
    /// Why a link is not followed.
    private let unsafeLink: String?

    init(
        path: String, location: String, limit: Int, isUnsafe: LockedValue<Bool>,
        synchronise: @escaping @Sendable (Int32) -> Int32, synchroniseFolder: @escaping @Sendable (Int32) -> Int32
    ) {
        let place = LinkedPlace(of: path)
        (self.path, unsafeLink) = (place.path, place.problem)
        folder = Folder(of: place.path, location: location, synchronise: synchroniseFolder)
        (self.location, self.limit, self.isUnsafe, self.synchronise) = (location, limit, isUnsafe, synchronise)
    }

    /// A small file, whose path is its name in messages.
    package init(path: String, limit: Int) {
        self.init(
            path: path, location: path, limit: limit, isUnsafe: LockedValue(false), synchronise: { fsync($0) },
            synchroniseFolder: { fsync($0) })
    }

    /// Returns the content, or nil if there is no file.
    package func read<Content>(_ decode: ([UInt8]) throws -> Content) throws -> Content? {
        if let unsafeLink { throw refusal(unsafeLink) }
        return try read(at: path, decode)
    }

    /// Reads a file beside this one.
    func read<Content>(at path: String, _ decode: ([UInt8]) throws -> Content) throws -> Content? {
        // O_NONBLOCK: a named pipe in place of the file must not block the call.
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if descriptor < 0, errno == ENOENT { return nil }
        if descriptor < 0, errno == ELOOP { throw refusal("is a symbolic link") }
        if descriptor < 0, errno == EACCES, let isOurs = Folder.isOurs(path), !isOurs { throw foreign }
        guard descriptor >= 0 else { throw AuthError.unopened(path, location, "cannot be opened", errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("cannot be opened") }
        let type = status.st_mode & S_IFMT
        // Report a device as a failure, not as damaged, so that it is not set aside.
        guard type != S_IFCHR, type != S_IFBLK else { throw failure("is a device", EINVAL) }
        guard type == S_IFREG else { throw refusal("is not a regular file") }
        guard status.st_uid == geteuid() else { throw foreign }
        try requireOwnName(path, status)
        guard status.st_size <= limit else { throw tooLarge }
        let bytes: [UInt8]
        do throws(InputFile.Problem) { bytes = try InputFile.contents(of: descriptor, atMost: limit) } catch {
            guard case .system(let number) = error else { throw tooLarge }
            throw failure("cannot be read", number)
        }
        let content = try decode(bytes)
        // If the file was made readable for others, restore its mode.
        if status.st_mode & 0o077 != 0 { fchmod(descriptor, 0o600) }
        return content
    }

    /// Throws if no other file can take the place of this one: a container may have mounted the file, and not its folder.
    func requireReplaceable() throws {
        guard shims_is_mount_point(path) != 0 else { return }
        throw AuthError(
            .store, .store, "\(location) is mounted by itself, so it cannot be replaced. Mount its folder instead",
            outcome: .notSent)
    }

    /// Writes a new file and renames it.
    ///
    /// - Parameters:
    ///   - new: The path of the new file, or of room reserved for it. Only one process may write it at a time.
    ///   - mustBeNew: Whether it is an error if the file is there already.
    func write(_ bytes: [UInt8], by new: String, mustBeNew: Bool = false) throws {
        if let unsafeLink { throw refusal(unsafeLink) }
        do {
            try writeNew(bytes, new)
            // Some file systems have no second names.
            if mustBeNew, link(new, path) == 0 {
                unlink(new)
            } else if mustBeNew, errno != EPERM {
                throw failure("cannot be created")
            } else {
                try replace(by: new)
            }
        } catch {
            unlink(new)
            throw error
        }
        try secure()
    }

    /// Puts a file beside this one, which a dead process has left, in its place.
    func put(_ new: String) throws {
        let descriptor = Glibc.open(new, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot be opened") }
        defer { close(descriptor) }
        guard synchronise(descriptor) == 0 else { throw failure("cannot be synchronised") }
        try replace(by: new)
        try secure()
    }

    private func replace(by new: String) throws {
        guard rename(new, path) != 0 else { return }
        let error = errno
        if error == EBUSY { try requireReplaceable() }
        throw failure("cannot be replaced", error)
    }

    /// Writes the file. Missing folders are created. A folder in its place is set aside. If several processes do so at the
    /// same time, the last one wins.
    ///
    /// - Parameter mustBeNew: Whether it is an error if the file is there already.
    package func write(_ bytes: [UInt8], mustBeNew: Bool = false) throws {
        try folder.make()
        var status = stat()
        if lstat(path, &status) == 0 {
            try requireOwnName(path, status)
            if status.st_mode & S_IFMT == S_IFDIR { try AsideFile.move(path, location: location) }
        }
        try write(bytes, by: "\(path).\(getpid()).new", mustBeNew: mustBeNew)
    }

    /// Removes the file. It is also a success if there is none.
    ///
    /// - Parameter new: What may lie beside it, and is removed too.
    func remove(with new: String) throws {
        guard unlink(path) == 0 || errno == ENOENT else { throw failure("cannot be removed") }
        unlink(new)
        try secure()
    }

    /// Synchronises the folder if an earlier call failed to.
    func secureIfNecessary() throws { if isUnsafe.withLock({ $0 }) { try secure() } }

    /// Synchronises the folder, since a rename or removal is not durable before that.
    func secure() throws {
        isUnsafe.withLock { $0 = true }
        try folder.synchronise()
        isUnsafe.withLock { $0 = false }
    }

    private func writeNew(_ bytes: [UInt8], _ new: String) throws {
        let (descriptor, size) = try open(new: new)
        defer { close(descriptor) }
        // Truncate first, and not to zero: the file keeps its room, and it is complete with its last byte.
        guard size <= bytes.count || ftruncate(descriptor, off_t(bytes.count)) == 0 else {
            throw failure("cannot be written")
        }
        do { try OutputFile.write(bytes, to: descriptor) } catch { throw failure("cannot be written", error.number) }
        guard synchronise(descriptor) == 0 else { throw failure("cannot be written") }
    }

    /// Opens the file to write: the reserved room, or a new file that replaces anything else.
    func open(new: String) throws -> (descriptor: Int32, size: Int) {
        let flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let room = Glibc.open(new, flags)
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
        let descriptor = Glibc.open(new, flags | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else {
            // A folder, or in a shared folder another user's file.
            if errno == EEXIST { throw failure("cannot be written, since \(new) cannot be removed", removal) }
            throw failure("cannot be written")
        }
        return (descriptor, 0)
    }

    private func requireOwnName(_ path: String, _ found: stat) throws {
        guard let other = folder.otherName(for: path, found) else { return }
        throw AuthError(
            .store, .store,
            "\(location) would be the same file as \(other): the file system does not tell capital letters apart. Choose "
                + "another name", outcome: .notSent)
    }

    func failure(_ what: String, _ error: Int32 = errno) -> AuthError { .store(location, what, errno: error) }

    func refusal(_ what: String) -> AuthError { .damagedStore(location, what) }

    private var tooLarge: AuthError { refusal("is too large") }

    private var foreign: AuthError { folder.ofAnotherUser ?? refusal("belongs to another user") }
}
