internal import AppAuthConcurrency
internal import AppAuthProtocol

/// A refresh lock for the tasks of one process, granted in order, for stores that no other process shares.
public final class RefreshQueue: Sendable {
    private struct State {
        var isLent = false
        var nextID = 0
        var waiting: [(id: Int, continuation: LockedContinuation<RefreshLock>)] = []
        /// Callers that were cancelled before their continuation was registered.
        var cancelled: Set<Int> = []
    }

    private let state = LockedValue(State())

    /// Creates an empty queue.
    public init() {}

    /// Waits for the lock.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func wait() async throws -> RefreshLock {
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

    /// How many tasks wait for the lock.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    private func enter(_ id: Int, _ continuation: LockedContinuation<RefreshLock>) {
        let result: Result<RefreshLock, any Error>? = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
            if state.isLent {
                state.waiting.append((id, continuation))
                return nil
            }
            state.isLent = true
            return .success(lock())
        }
        if let result { continuation.resume(with: result) }
    }

    private func lock() -> RefreshLock { RefreshLock { [self] in lendNext() } }

    private func lendNext() {
        let next = state.withLock { state in
            state.isLent = !state.waiting.isEmpty
            return state.isLent ? state.waiting.removeFirst().continuation : nil
        }
        next?.resume(returning: lock())
    }

    private func leave(_ id: Int) {
        let continuation = state.withLock { state -> LockedContinuation<RefreshLock>? in
            guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.waiting.remove(at: index).continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}
