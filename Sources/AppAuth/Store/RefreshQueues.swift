internal import AppAuthSession
internal import JOSE

/// The queues of this process in front of the kernel's locks, one for each lock file.
///
/// A thread that waits for a lock of the kernel's cannot be called back: it stays until the lock is free, with its open
/// file, though its caller has left. So one at most waits there for each file, and all others here, as tasks, which can.
enum RefreshQueues {
    /// A queue lasts as long as somebody waits in it, or has what it lends.
    private struct Entry {
        weak var queue: RefreshQueue?
    }

    private static let entries = LockedValue<[String: Entry]>([:])

    static func queue(for path: String) -> RefreshQueue {
        entries.withLock { entries in
            if let queue = entries[path]?.queue { return queue }
            entries = entries.filter { $0.value.queue != nil }
            let queue = RefreshQueue()
            entries[path] = Entry(queue: queue)
            return queue
        }
    }
}
