internal import AppAuthProtocol
internal import CShims
internal import Glibc
internal import JOSE

/// The folder under `$XDG_RUNTIME_DIR` that contains the sockets of the processes that wait for redirects.
///
/// Each process has its own socket, whose name begins with a hash of its scheme. The helper tries all of them.
package struct DeliveryFolder: Sendable {
    private let runtime: String
    /// A hash of the scheme for file names, which must be short since a socket's path is limited (unix(7): 107 bytes).
    private let stem: String

    package init(_ folders: DesktopFolders, scheme: String) {
        runtime = folders.runtime
        stem = Base64URL.encode(Array(Digest.sha256.hash(Array(scheme.utf8)).prefix(9)))
    }

    package var path: String { runtime + "/appauth" }

    /// Creates the folder, or checks that this user owns it and that only this user can write to it.
    func make() throws {
        try check(runtime)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else {
            throw Self.refusal("\(path) cannot be created: \(SystemError.text(errno))")
        }
        try check(path)
    }

    /// XDG Base Directory Specification: the folder belongs to the user and has mode 0700. Another user who can write
    /// to it could replace our socket.
    private func check(_ folder: String) throws {
        var status = stat()
        guard lstat(folder, &status) == 0 else {
            throw Self.refusal("the folder \(folder) cannot be used: \(SystemError.text(errno))")
        }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw Self.refusal("expected \(folder) to be a folder that only this user can write to")
        }
    }

    // MARK: locks

    /// How long to wait for the lock.
    var lockTimeout: Duration = .seconds(30)

    /// Waits for the lock and blocks the calling thread. It guards the sockets, the desktop entries and `mimeapps.list`, which
    /// all schemes share. It is held for milliseconds, but the holder may be stopped.
    ///
    /// - Parameter commitment: Ends the wait if the caller has left; made when the lock is held.
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable``, which names the holder; `CancellationError`.
    func lock(_ commitment: Commitment = Commitment()) throws -> ByteLock {
        try make()
        let file = path + "/redirects.lock"
        let descriptor = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.refusal("\(path) cannot be locked: \(SystemError.text(errno))") }
        let lock = ByteLock(0, in: descriptor)
        do {
            guard try lock.lock(within: lockTimeout, commitment) else {
                var error = Self.refusal("\(path) \(lock.busyDescription(file, after: lockTimeout))")
                error.isTemporary = true
                throw error
            }
        } catch let error as SystemError { throw Self.refusal("\(path) cannot be locked: \(error.text)") }
        try commitment.make()
        return lock
    }

    func locked<Result>(_ commitment: Commitment = Commitment(), _ body: () throws -> Result) throws -> Result {
        let lock = try lock(commitment)
        defer { lock.release() }
        return try body()
    }

    // MARK: sockets

    /// Creates a listening socket. Call it under the lock, or ``sweep()`` could remove the socket before it listens.
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
                .listener, .redirect, "no socket in \(path) for the redirect: \(reason)",
                outcome: .notSent)
        }
        return (socket, descriptor)
    }

    /// The sockets of all processes that wait for the scheme, including those that have died.
    func sockets() throws -> [String] {
        let names: [String]
        do { names = try FolderNames.read(path) } catch {
            if error.number == ENOENT { return [] }
            throw Self.refusal("\(path) cannot be read: \(error.text)")
        }
        return names.filter { $0.hasPrefix(stem + ".") }.map { "\(path)/\($0)" }
    }

    /// Removes the sockets of processes that have died. Call it under the lock.
    ///
    /// - Returns: Whether another process still waits.
    func sweep() throws -> Bool {
        var isAwaited = false
        for socket in try sockets() {
            let descriptor = shims_connect_to(socket, 1)
            if descriptor >= 0 { close(descriptor) }
            // If the backlog is full, the process is alive.
            if descriptor == -ECONNREFUSED { unlink(socket) } else if descriptor != -ENOENT { isAwaited = true }
        }
        return isAwaited
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.unavailable, .redirect, message, outcome: .notSent)
    }
}
