internal import AppAuth
internal import Glibc
internal import JOSE

/// The right to look after a session, which one process has at a time, and what it has told the user. So the user learns of
/// each event once, even if the watch starts anew.
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

    /// What the user has been told (``WatchSchedule/note``); null for nothing, or if it is damaged.
    var note: JSON {
        get {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = pread(descriptor, &bytes, bytes.count, 0)
            return (try? JSON(parsing: Array(bytes.prefix(max(0, count))))) ?? .null
        }
        set {
            let bytes = Array(newValue.serialized().utf8)
            guard ftruncate(descriptor, 0) == 0 else { return }
            _ = pwrite(descriptor, bytes, bytes.count, 0)
        }
    }

    deinit { close(descriptor) }
}
