internal import AppAuthCore
internal import CShims
internal import Glibc

/// A file whose bytes are locks, shared by all processes that have the same session.
///
/// The kernel lends them, to an open file description (`F_OFD_SETLKW`), and takes them back when its holder ends in
/// whatever way: no lock is ever stale. One file has room for both locks, and they work over NFS too. It is never
/// removed: a file of the same name that is made anew would have a second holder.
struct LockFile: Sendable {
    /// What a byte of the file is the lock of.
    enum Purpose: Int {
        /// The stored session, for milliseconds, while it is read and written.
        case session = 0
        /// The refresh token, for as long as a refresh takes.
        case refresh = 1
    }

    let path: String
    /// The store, for messages.
    let place: String

    /// Waits for the refresh lock; a thread of its own is the one that waits, if another process has it.
    func refreshLock() async throws -> RefreshLock {
        let turn = try await RefreshQueues.queue(for: path).wait()
        let (descriptor, file) = try open()
        let lock = RefreshLock {
            file.release()
            turn.release()
        }
        // Nobody has it, as a rule: then no thread is needed.
        if shims_try_lock_byte(descriptor, off_t(Purpose.refresh.rawValue)) == 0 { return lock }
        return try await onThreadUnlessCancelled(named: "appauth-lock", of: place) {
            try wait(for: .refresh, descriptor)
            return lock
        }
    }

    /// Waits for a lock, on the caller's thread.
    func hold(_ purpose: Purpose) throws -> RefreshLock {
        let (descriptor, lock) = try open()
        try wait(for: purpose, descriptor)
        return lock
    }

    /// Whether another process or another part of this one has a lock. A file that is not there, or not ours, is not locked.
    func isHeld(_ purpose: Purpose) -> Bool {
        let descriptor = Glibc.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return isOurs(descriptor) && shims_is_locked_byte(descriptor, off_t(purpose.rawValue)) != 0
    }

    private func wait(for purpose: Purpose, _ descriptor: Int32) throws {
        let error = shims_lock_byte(descriptor, off_t(purpose.rawValue))
        guard error == 0 else { throw failure("cannot be locked", error) }
    }

    /// Opens the file, and says who closes it: from the beginning it has an owner, whatever becomes of those who wait.
    private func open() throws -> (descriptor: Int32, lock: RefreshLock) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be locked", errno) }
        let lock = RefreshLock { close(descriptor) }
        guard isOurs(descriptor) else {
            throw AuthError(
                .store, .store, "\(place) cannot be locked: expected \(path) to be a file of this user, found another",
                outcome: .notSent)
        }
        return (descriptor, lock)
    }

    /// A lock of somebody else's could be held against us for ever.
    private func isOurs(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
    }

    private func failure(_ what: String, _ error: Int32) -> AuthError {
        .store(place, "\(what) by \(path)", errno: error)
    }
}
