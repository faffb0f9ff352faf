internal import AppAuthConcurrency

/// A refresh lock for the tasks of one process, granted in order, for stores that no other process shares.
package final class RefreshQueue: Sendable {
    private let queue = TaskQueue()

    /// Creates an empty queue.
    package init() {}

    /// Waits for the lock.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func wait() async throws -> RefreshLock {
        let turn = try await queue.turn()
        return RefreshLock { turn.end() }
    }

    /// How many tasks wait for the lock.
    package var waitingCount: Int { queue.waitingCount }
}
