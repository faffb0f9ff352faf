internal import AppAuthConcurrency
internal import CShims
internal import Glibc

/// A lock on a byte of a file, shared by all processes that use the file.
///
/// It belongs to an open file description (`F_OFD_SETLK`, fcntl(2)). However its holder ends, the kernel releases it,
/// so no lock is ever stale. It works over NFS too. The file contains the names of its holders (``LockHolder``) and
/// must never be removed: a new file of the same name could have a second holder.
final class ByteLock: Sendable {
    private let byte: Int
    private let descriptor: Int32
    private let state = LockedValue((isOpen: true, isLocked: false))

    /// Makes a lock that is not held yet.
    ///
    /// - Parameters:
    ///   - byte: The byte, which is also the line of the holder's name: 0 or 1.
    ///   - descriptor: The open file. The lock closes it when it is released or deinitialized.
    init(_ byte: Int, in descriptor: Int32) { (self.byte, self.descriptor) = (byte, descriptor) }

    deinit { release() }

    /// Takes the lock if it is free.
    ///
    /// - Returns: Whether the lock is held.
    func tryLock() throws(SystemError) -> Bool {
        let error = shims_try_lock_byte(descriptor, off_t(byte))
        if [EAGAIN, EACCES].contains(error) { return false }
        try take(error)
        return true
    }

    /// Waits without a limit, and blocks the calling thread.
    func lock() throws(SystemError) { try take(shims_lock_byte(descriptor, off_t(byte))) }

    /// Waits up to a limit, since the holder may be stopped, and blocks the calling thread.
    ///
    /// - Parameter commitment: Ends the wait if the caller has left.
    /// - Returns: Whether the lock is held.
    /// - Throws: ``SystemError``; `CancellationError`.
    func lock(within limit: Duration, _ commitment: Commitment) throws -> Bool {
        try commitment.wait(within: limit) { try tryLock() }
    }

    private func take(_ error: Int32) throws(SystemError) {
        guard error == 0 else { throw SystemError(number: error) }
        state.withLock { $0.isLocked = true }
        LockHolder.note(true, at: byte, in: descriptor)
    }

    /// The error of a lock on a byte that no lock uses; 0 if the file can be locked.
    var obstacle: Int32 { ByteLock.obstacle(descriptor) }

    /// Returns the error of a lock on a byte that no lock uses; 0 if the file can be locked. The lock ends with the descriptor.
    static func obstacle(_ descriptor: Int32) -> Int32 {
        let error = shims_try_lock_byte(descriptor, 2)
        // Another process tries it at this moment.
        return [EAGAIN, EACCES].contains(error) ? 0 : error
    }

    /// Releases the lock, if it is held, and closes the file. Further calls have no effect.
    func release() {
        state.withLock { state in
            if state.isLocked {
                LockHolder.note(false, at: byte, in: descriptor)
                _ = shims_unlock_byte(descriptor, off_t(byte))
            }
            if state.isOpen { close(descriptor) }
            state = (false, false)
        }
    }

    /// Whether another process or another part of this one holds the lock.
    var isHeldElsewhere: Bool { shims_lock_holder(descriptor, off_t(byte)) != 0 }

    /// A description of the holder, or nil if it is this lock or there is none.
    var holder: String? { LockHolder.description(at: byte, in: descriptor) }

    /// What to say when the wait for the lock has reached its limit.
    ///
    /// - Parameter path: The path of the file.
    func busyDescription(_ path: String, after limit: Duration) -> String {
        "could not be locked within \(Int(limit.seconds.rounded(.up))) s: \(holder ?? "another process") holds its lock "
            + "\(path). If that process is suspended, for example with Ctrl-Z, continue it or end it"
    }
}
