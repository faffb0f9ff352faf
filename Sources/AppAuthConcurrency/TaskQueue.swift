/// A queue for the tasks of one process: one task at a time has its turn, in the order in which they came.
package final class TaskQueue: Sendable {
    private struct State {
        var isTaken = false
        var nextID = 0
        var waiting: [(id: Int, continuation: LockedContinuation<Turn>)] = []
        /// Callers that were cancelled before their continuation was registered.
        var cancelled: Set<Int> = []
    }

    /// A turn, which lasts until it is ended or deinitialized.
    package final class Turn: Sendable {
        private let queue: LockedValue<TaskQueue?>

        fileprivate init(in queue: TaskQueue) { self.queue = LockedValue(queue) }

        deinit { end() }

        /// Ends the turn. Further calls have no effect.
        package func end() {
            let queue = queue.withLock { queue in
                defer { queue = nil }
                return queue
            }
            queue?.beginNext()
        }
    }

    private let state = LockedValue(State())

    package init() {}

    /// Waits for a turn.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    package func turn() async throws -> Turn {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        defer { state.withLock { _ = $0.cancelled.remove(id) } }
        return try await withTaskCancellationHandler {
            try await withLockedContinuation { continuation in enter(id, continuation) }
        } onCancel: {
            leave(id)
        }
    }

    /// Whether a task has its turn.
    package var isTaken: Bool { state.withLock { $0.isTaken } }

    /// How many tasks wait for their turn.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    private func enter(_ id: Int, _ continuation: LockedContinuation<Turn>) {
        let result: Result<Turn, any Error>? = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
            if state.isTaken {
                state.waiting.append((id, continuation))
                return nil
            }
            state.isTaken = true
            return .success(Turn(in: self))
        }
        if let result { continuation.resume(with: result) }
    }

    private func beginNext() {
        let next = state.withLock { state in
            state.isTaken = !state.waiting.isEmpty
            return state.isTaken ? state.waiting.removeFirst().continuation : nil
        }
        next?.resume(returning: Turn(in: self))
    }

    private func leave(_ id: Int) {
        let continuation = state.withLock { state -> LockedContinuation<Turn>? in
            guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.waiting.remove(at: index).continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}
