internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// The folder under `$XDG_RUNTIME_DIR` in which the processes that wait for redirects have their sockets.
///
/// Each has one of its own, with a name that begins with its scheme's: the started helper goes from one to the next.
package struct DeliveryFolder: Sendable {
    private let runtime: String
    /// Stands for the scheme in names of files, whose length a socket's path leaves little of (unix(7): 107 bytes).
    private let stem: String

    package init(_ folders: DesktopFolders, scheme: String) {
        runtime = folders.runtime
        stem = Base64URL.encode(Array(Digest.sha256.hash(Array(scheme.utf8)).prefix(9)))
    }

    package var path: String { runtime + "/appauth" }

    /// Makes the folder, for this user alone, or checks that it is so.
    func make() throws {
        try check(runtime)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw Self.refusal("\(path) cannot be made: \(SystemError.text(errno))")
        }
        try check(path)
    }

    /// XDG Base Directory Specification: the folder is the user's, with mode 0700. Somebody else's would let them put
    /// a socket of theirs in the place of ours.
    private func check(_ folder: String) throws {
        var status = stat()
        guard lstat(folder, &status) == 0 else {
            throw Self.refusal("expected the folder \(folder): \(SystemError.text(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw Self.refusal("expected \(folder) to be a folder that this user alone can write to, found another")
        }
    }

    // MARK: locks

    /// What a byte of the lock file is the lock of.
    enum Purpose: off_t {
        /// The sockets and the desktop entry, for milliseconds.
        case entry = 0
        /// A run of xdg-mime, which two at a time would disturb.
        case xdgMIME = 1
    }

    /// A lock that is held until it is released, once. The kernel takes it back when the process ends.
    struct Held: Sendable {
        fileprivate let descriptor: Int32

        func release() { close(descriptor) }
    }

    /// Waits for a lock, on the caller's thread.
    func hold(_ purpose: Purpose) throws -> Held {
        try make()
        let descriptor = open("\(path)/\(stem).lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.refusal("\(path) cannot be locked: \(SystemError.text(errno))") }
        let error = shims_lock_byte(descriptor, purpose.rawValue)
        guard error == 0 else {
            close(descriptor)
            throw Self.refusal("\(path) cannot be locked: \(SystemError.text(error))")
        }
        return Held(descriptor: descriptor)
    }

    func locked<Result>(_ purpose: Purpose, _ body: () throws -> Result) throws -> Result {
        let held = try hold(purpose)
        defer { held.release() }
        return try body()
    }

    // MARK: sockets

    /// Makes a listening socket. Under the lock, else somebody could take it for a dead one before it listens.
    func bind(backlog: Int32) throws -> (path: String, descriptor: Int32) {
        let name: String
        do { name = Base64URL.encode(try randomBytes(6)) } catch { throw Self.refusal("\(error)") }
        let socket = "\(path)/\(stem).\(name)"
        let descriptor = shims_listen_at(socket, backlog)
        guard descriptor >= 0 else {
            let longest = shims_longest_socket_path()
            let reason =
                "\(SystemError.text(-descriptor)) (\(socket.utf8.count) bytes, of which \(longest) are possible)"
            throw AuthError(
                .listener, .redirect, "expected a socket in \(path) for the redirect, found \(reason)",
                outcome: .notSent)
        }
        return (socket, descriptor)
    }

    /// The sockets of all processes that wait for the scheme, or have died doing so.
    func sockets() throws -> [String] {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return [] }
            throw Self.refusal("\(path) cannot be read: \(SystemError.text(errno))")
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasPrefix(stem + "."), name != stem + ".lock" { names.append(name) }
        }
        return names.map { "\(path)/\($0)" }
    }

    /// Removes the sockets of processes that have died. Under the lock.
    ///
    /// - Returns: Whether anybody else still waits.
    func sweep() throws -> Bool {
        var isAwaited = false
        for socket in try sockets() {
            let descriptor = shims_connect_to(socket, 1)
            if descriptor >= 0 { close(descriptor) }
            // A backlog that is full is one of somebody who lives.
            if descriptor == -ECONNREFUSED { unlink(socket) } else if descriptor != -ENOENT { isAwaited = true }
        }
        return isAwaited
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.unavailable, .redirect, message, outcome: .notSent)
    }
}
