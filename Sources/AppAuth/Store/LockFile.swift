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

    /// A lock that is held until it is released, once.
    struct Held: Sendable {
        fileprivate let descriptor: Int32

        func release() { close(descriptor) }
    }

    /// Waits for the refresh lock; its thread is the one that waits.
    func refreshLock() async throws -> RefreshLock {
        let descriptor = try open()
        // Nobody has it, as a rule: then no thread is needed.
        if shims_try_lock_byte(descriptor, off_t(Purpose.refresh.rawValue)) == 0 {
            return RefreshLock { close(descriptor) }
        }
        return try await onThreadUnlessCancelled(named: "appauth-lock") {
            let held = try wait(for: .refresh, descriptor)
            return RefreshLock { held.release() }
        }
    }

    /// Waits for a lock, on the caller's thread.
    func hold(_ purpose: Purpose) throws -> Held { try wait(for: purpose, open()) }

    private func wait(for purpose: Purpose, _ descriptor: Int32) throws -> Held {
        let error = shims_lock_byte(descriptor, off_t(purpose.rawValue))
        guard error == 0 else {
            close(descriptor)
            throw failure("cannot be locked", error)
        }
        return Held(descriptor: descriptor)
    }

    private func open() throws -> Int32 {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw failure("cannot be locked", errno) }
        var status = stat()
        // A lock of somebody else's could be held against us for ever.
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() else {
            close(descriptor)
            throw AuthError(
                .store, .store, "\(place) cannot be locked: expected \(path) to be a file of this user",
                outcome: .notSent)
        }
        return descriptor
    }

    private func failure(_ what: String, _ error: Int32) -> AuthError {
        .store(place, "\(what) by \(path)", errno: error)
    }
}
