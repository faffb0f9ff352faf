package import AppAuthConcurrency

/// The queues of this process for the locks that it shares with others: one for each lock file, or for each lock of a
/// database.
///
/// A thread that waits for a kernel lock cannot be cancelled: it and its open file stay until the lock is free, even if
/// its caller has left. Therefore at most one thread waits for each file. All other callers wait here as tasks, which
/// can be cancelled. For a database, at most one connection waits.
package enum RefreshQueues {
    /// A queue, kept while a task waits in it or holds its lock.
    private struct Entry {
        weak var queue: TaskQueue?
    }

    private static let entries = LockedValue<[[String]: Entry]>([:])

    package static func queue(for lock: [String]) -> TaskQueue {
        entries.withLock { entries in
            if let queue = entries[lock]?.queue { return queue }
            entries = entries.filter { $0.value.queue != nil }
            let queue = TaskQueue()
            entries[lock] = Entry(queue: queue)
            return queue
        }
    }
}
