internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import AppAuthSession
internal import CShims
internal import Glibc
internal import JOSE

/// A file whose bytes are locks, shared by all processes that use the same session.
///
/// The locks belong to an open file description (`F_OFD_SETLKW`). However a holder ends, the kernel releases its lock,
/// so no lock is ever stale. One file has room for both locks, and they work over NFS too. The file is never removed: a
/// new file of the same name could have a second holder.
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
        let position = try await RefreshQueues.queue(for: path).wait()
        let file = try OpenLock(.refresh, of: self)
        try SpareDescriptors.keep(for: location)
        let lock = RefreshLock {
            file.release()
            SpareDescriptors.drop()
            position.release()
        }
        // The lock is usually free, and then no thread is needed.
        if try file.tryLock() { return lock }
        return try await onThreadUnlessCancelled(named: "appauth-lock", of: location) {
            try file.lock()
            return lock
        }
    }

    /// The number of tasks that wait in the queue before they ask the kernel for the refresh lock.
    var waitingCount: Int { RefreshQueues.queue(for: path).waitingCount }

    /// Waits for the session lock and blocks the calling thread. The wait has a limit, since the holder may be stopped.
    ///
    /// - Parameter commitment: Ends the wait if the caller has left.
    /// - Throws: ``AuthError`` with ``StoreProblem/busy``, which names the holder; `CancellationError`.
    func sessionLock(within limit: Duration, _ commitment: Commitment) throws -> RefreshLock {
        let file = try OpenLock(.session, of: self)
        guard try commitment.wait(within: limit, until: file.tryLock) else { throw busy(file.holder, limit) }
        return RefreshLock { file.release() }
    }

    /// Returns whether another process or part of this one holds a lock. A missing or foreign file is not locked.
    func isHeld(_ purpose: Purpose) -> Bool { (try? OpenLock(purpose, of: self, isRead: true))?.isHeld ?? false }

    /// Describes the holder of a lock. Returns nil if the lock is free, or if the file is missing or not ours.
    func holder(_ purpose: Purpose) -> String? { (try? OpenLock(purpose, of: self, isRead: true))?.holder }

    /// Checks, before a user signs in, that the locks can be used. Changes nothing.
    ///
    /// - Throws: ``AuthError`` if the file is not ours or cannot be opened, or if it is missing and cannot be created.
    func check() throws {
        guard Folder.isOurs(path) != nil else { return try folder.probe(bytes: LockHolder.room) }
        var existing = self
        existing.isMade = false
        _ = try OpenLock(.session, of: existing)
    }

    /// Takes a lock. If its file does not belong to this user or is not a regular file, the file is set aside first. No
    /// process of this user holds a lock of such a file, so there are never two holders.
    func withoutForeignFile(_ take: () throws -> RefreshLock) throws -> RefreshLock {
        do { return try take() } catch let error as AuthError where error.storeProblem == .damaged {
            _ = try AsideFile.move(path, location: location)
            return try take()
        }
    }

    /// - Throws: ``AuthError`` with ``StoreProblem/unavailable`` if the file does not exist.
    func requireFile() throws { if access(path, F_OK) != 0 { throw away } }

    fileprivate var away: AuthError {
        .store(
            location, .unavailable, "is unavailable",
            "neither the session nor its lock \(path) exists, though a session was stored. Is the disk mounted?",
            isTemporary: true)
    }

    private func busy(_ holder: String?, _ limit: Duration) -> AuthError {
        var error = AuthError(
            .store, .store,
            "\(location) could not be locked within \(Int(limit.seconds.rounded(.up))) s: \(holder ?? "another process") holds "
                + "its lock \(path). If that process is suspended, for example with Ctrl-Z, continue it or end it",
            outcome: .notSent, isTemporary: true)
        error.storeProblem = .busy
        return error
    }
}

/// An open lock file and its lock, until it is released.
private final class OpenLock: Sendable {
    private let file: LockFile
    private let purpose: LockFile.Purpose
    private let descriptor: Int32
    private let state = LockedValue((isOpen: true, isLocked: false))

    /// - Throws: ``AuthError`` if the file is not ours. Another user could hold the lock of their file for ever.
    init(_ purpose: LockFile.Purpose, of file: LockFile, isRead: Bool = false) throws {
        (self.file, self.purpose) = (file, purpose)
        descriptor = try Self.open(file, isRead: isRead)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            throw Self.foreign(file)
        }
    }

    deinit { release() }

    private static func open(_ file: LockFile, isRead: Bool) throws -> Int32 {
        let flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (isRead ? O_RDONLY : O_RDWR)
        var descriptor = Glibc.open(file.path, flags)
        if descriptor < 0, errno == ENOENT, !isRead {
            guard file.isMade else { throw file.away }
            try file.folder.make()
            descriptor = Glibc.open(file.path, flags | O_CREAT, 0o600)
        }
        if descriptor < 0 {
            // The file belongs to another user, or is a symbolic link or a folder.
            let isForeign = errno == EACCES && Folder.isOurs(file.path) == false
            throw isForeign || errno == ELOOP || errno == EISDIR ? foreign(file) : failure(file, errno)
        }
        return descriptor
    }

    func tryLock() throws -> Bool {
        let error = shims_try_lock_byte(descriptor, off_t(purpose.rawValue))
        if [EAGAIN, EACCES].contains(error) { return false }
        try take(error)
        return true
    }

    /// Waits without a limit until the lock is free.
    func lock() throws { try take(shims_lock_byte(descriptor, off_t(purpose.rawValue))) }

    private func take(_ error: Int32) throws {
        guard error == 0 else { throw Self.failure(file, error) }
        state.withLock { $0.isLocked = true }
        LockHolder.note(true, at: purpose.rawValue, in: descriptor)
    }

    func release() {
        state.withLock { state in
            if state.isLocked {
                LockHolder.note(false, at: purpose.rawValue, in: descriptor)
                _ = shims_unlock_byte(descriptor, off_t(purpose.rawValue))
            }
            if state.isOpen { close(descriptor) }
            state = (false, false)
        }
    }

    var isHeld: Bool { shims_lock_holder(descriptor, off_t(purpose.rawValue)) != 0 }

    /// The description of the holder, if it is not this descriptor.
    var holder: String? { LockHolder.description(at: purpose.rawValue, in: descriptor) }

    private static func foreign(_ file: LockFile) -> AuthError {
        .damagedStore(
            file.location, "cannot be locked: expected \(file.path) to be a regular file of this user"
        ).withDiscardHint
    }

    private static func failure(_ file: LockFile, _ error: Int32) -> AuthError {
        .store(file.location, "cannot be locked by \(file.path)", errno: error)
    }
}
