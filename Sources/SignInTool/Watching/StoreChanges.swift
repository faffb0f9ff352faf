internal import AppAuth
internal import AppAuthConcurrency
internal import Glibc

/// Reports changes of the state folder: a session or a profile was stored or removed. Between changes, it costs nothing.
final class StoreChanges: Sendable {
    private let waiting = LockedValue<AsyncStream<Void>.Continuation?>(nil)
    /// Why the folder cannot be watched; nil if it is. Many systems allow a user 128 watchers (inotify), and editors use them
    /// up.
    let problem: String?

    /// Creates the folder if it is missing.
    init(in path: String) throws {
        try Folder(of: path + "/session", location: path).make()
        let descriptor = inotify_init1(Int32(IN_CLOEXEC))
        // All files there are replaced as a whole.
        @Sendable func watch() -> Bool { inotify_add_watch(descriptor, path, UInt32(IN_MOVED_TO | IN_DELETE)) >= 0 }
        guard descriptor >= 0, watch() else {
            let error = errno
            if descriptor >= 0 { close(descriptor) }
            switch error {
            case EMFILE, ENOSPC:
                problem =
                    "the limit of inotify is reached. To raise it, set fs.inotify.max_user_instances and "
                    + "fs.inotify.max_user_watches with sysctl"
            case ENOSYS: problem = "this system has no inotify"
            default: throw AuthError.unopened(path, path, "cannot be watched", errno: error)
            }
            return
        }
        problem = nil
        try SystemThread(named: "watch-changes", for: .store) { [waiting] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 || errno == EINTR else { return }
                // The folder itself may have been removed: then another one is watched.
                if !watch() {
                    try? Folder(of: path + "/session", location: path).make()
                    _ = watch()
                }
                waiting.withLock { $0 }?.yield()
            }
        }.detach()
    }

    /// Returns the changes from now on. An earlier stream gets no more.
    func subscribe() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        waiting.withLock { $0 = continuation }
        return stream
    }
}
