internal import AppAuth
internal import AppAuthConcurrency
internal import Glibc

/// Reports changes of the state folder: a session or a profile was stored or removed. Between changes, it costs nothing.
final class StoreChanges: Sendable {
    private let waiting = LockedValue<AsyncStream<Void>.Continuation?>(nil)
    /// Why the folder cannot be watched; nil if it is. Many systems allow a user 128 watchers (inotify), and editors use them
    /// up.
    let problem: String?
    /// The descriptor that reports the changes.
    let descriptor: Int32

    /// Whether a descriptor can report changes.
    static func isOne(_ descriptor: Int32) -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        let count = readlink("/proc/self/fd/\(descriptor)", &name, name.count)
        return count > 0
            && String(decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
                .contains("inotify")
    }

    /// Creates the folder if it is missing.
    ///
    /// - Parameter former: The descriptor of the process that this one has replaced.
    init(in path: String, continuing former: Int32?) throws {
        try Folder(of: path + "/session", location: path).make()
        let descriptor = former ?? inotify_init1(Int32(IN_CLOEXEC))
        self.descriptor = descriptor
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
        try SystemThread(named: "watch-changes", for: .store) { [self] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 || errno == EINTR else { return }
                // The folder itself may have been removed: then another one is watched.
                if !watch() {
                    try? Folder(of: path + "/session", location: path).make()
                    _ = watch()
                }
                report()
            }
        }.detach()
    }

    /// Reports something else that changes what is to be done.
    func report() { waiting.withLock { $0 }?.yield() }

    /// Returns the changes from now on. An earlier stream gets no more.
    func subscribe() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        waiting.withLock { $0 = continuation }
        return stream
    }
}
