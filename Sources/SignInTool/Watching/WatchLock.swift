internal import AppAuth
internal import Glibc

/// The right to look after a session, which one process has until it ends. So the user learns of each event once.
final class WatchLock: Sendable {
    private let descriptor: Int32

    private init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Returns nil if another process has it.
    static func take(for profile: Profile) throws -> WatchLock? {
        let path = try "\(StateFolder().path)/\(profile.name).watch.lock"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw AuthError.unopened(path, path, "cannot be opened", errno: errno) }
        // The file stays: a removed one would have two holders.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            close(descriptor)
            guard number == EWOULDBLOCK else { throw AuthError.unopened(path, path, "cannot be locked", errno: number) }
            return nil
        }
        return WatchLock(descriptor)
    }

    deinit { close(descriptor) }
}
