internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession
internal import Glibc

/// The file with the two locks of a stored session (``ByteLock``), shared by all processes that use the session.
struct LockFile: Sendable {
    /// The lock that a byte of the file represents.
    enum Purpose: Int {
        /// Guards the stored session while it is read and written. It is held for milliseconds.
        case session = 0
        /// Guards the refresh token. It is held for the duration of a refresh.
        case refresh = 1
    }

    let path: String
    /// The store, for messages.
    let location: String
    let folder: Folder
    /// Whether the file and its folder are created if they are missing.
    var isMade = true

    /// Waits for the refresh lock. If another process holds it, the wait uses a thread of its own.
    func refreshLock() async throws -> RefreshLock {
        let turn = try await RefreshQueues.queue(for: [path]).turn()
        let file = try open(.refresh)
        try SpareDescriptors.keep(for: location)
        let lock = RefreshLock {
            file.release()
            SpareDescriptors.drop()
            turn.end()
        }
        // The lock is usually free, and then no thread is needed.
        if try describingErrors({ try file.tryLock() }) { return lock }
        return try await onThread(named: "appauth-lock", of: location, Commitment()) {
            try describingErrors { try file.lock() }
            return lock
        }
    }

    /// The number of tasks that wait in the queue before they ask the kernel for the refresh lock.
    var waitingCount: Int { RefreshQueues.queue(for: [path]).waitingCount }

    /// Waits for the session lock and blocks the calling thread. The wait has a limit, since the holder may be stopped.
    ///
    /// - Parameter commitment: Ends the wait if the caller has left.
    /// - Throws: ``AuthError`` with ``StoreProblem/busy``, which names the holder; `CancellationError`.
    func sessionLock(within limit: Duration, _ commitment: Commitment) throws -> ByteLock {
        let lock = try open(.session)
        guard try describingErrors({ try lock.lock(within: limit, commitment) }) else { throw busy(lock, limit) }
        return lock
    }

    /// Returns whether another process or part of this one holds a lock. A missing or foreign file is not locked.
    func isHeld(_ purpose: Purpose) -> Bool { (try? open(purpose, toRead: true))?.isHeldElsewhere ?? false }

    /// Describes the holder of a lock. Returns nil if the lock is free, or if the file is missing or not ours.
    func holder(_ purpose: Purpose) -> String? { (try? open(purpose, toRead: true))?.holder }

    /// Checks, before a user signs in, that the locks can be used. Changes nothing.
    ///
    /// - Throws: ``AuthError`` if the file is not ours or cannot be opened, or if it is missing and cannot be created.
    func check() throws {
        guard Folder.isOurs(path) != nil else { return try folder.probe(bytes: LockHolder.room) }
        var existing = self
        existing.isMade = false
        let error = try existing.open(.session).obstacle
        if error != 0 { throw failure(error) }
    }

    /// Takes a lock. If its file does not belong to this user or is not a regular file, the file is set aside first. No
    /// process of this user holds a lock of such a file, so there are never two holders.
    func withoutForeignFile(_ take: () throws -> ByteLock) throws -> ByteLock {
        do { return try take() } catch let error as AuthError where error.storeProblem == .damaged {
            _ = try AsideFile.move(path, location: location)
            return try take()
        }
    }

    /// - Throws: ``AuthError`` with ``StoreProblem/unavailable`` if the file does not exist.
    func requireFile() throws { if access(path, F_OK) != 0 { throw away } }

    /// Opens the file.
    ///
    /// - Throws: ``AuthError`` if the file is not ours. Another user could hold the lock of their file for ever.
    private func open(_ purpose: Purpose, toRead: Bool = false) throws -> ByteLock {
        if !toRead { try folder.requireOwner() }
        let flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (toRead ? O_RDONLY : O_RDWR)
        var descriptor = Glibc.open(path, flags)
        if descriptor < 0, errno == ENOENT, !toRead {
            guard isMade else { throw away }
            try folder.make()
            descriptor = Glibc.open(path, flags | O_CREAT, 0o600)
        }
        guard descriptor >= 0 else {
            let error = errno
            // The file belongs to another user, or is a symbolic link or a folder.
            let isForeign = error == EACCES && Folder.isOurs(path) == false
            guard isForeign || error == ELOOP || error == EISDIR else {
                throw AuthError.unopened(path, location, "cannot be locked by \(path)", errno: error)
            }
            throw foreign
        }
        let lock = ByteLock(purpose.rawValue, in: descriptor)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw foreign
        }
        return lock
    }

    // MARK: errors

    private func describingErrors<Result>(_ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let error as SystemError { throw failure(error.number) }
    }

    private func failure(_ error: Int32) -> AuthError { .unlocked(path, location, errno: error) }

    private var foreign: AuthError {
        folder.ofAnotherUser
            ?? .damagedStore(location, "cannot be locked: expected \(path) to be a regular file of this user")
            .withDiscardHint
    }

    private var away: AuthError {
        .store(
            location, .unavailable, "is unavailable",
            "neither the session nor its lock \(path) exists, though a session was stored. Is the disk mounted?",
            isTemporary: true)
    }

    private func busy(_ lock: ByteLock, _ limit: Duration) -> AuthError {
        var error = AuthError(
            .store, .store, "\(location) \(lock.busyDescription(path, after: limit))", outcome: .notSent,
            isTemporary: true)
        error.storeProblem = .busy
        return error
    }
}
