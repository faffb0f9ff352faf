internal import AppAuthConcurrency
internal import JOSE

/// A counter that only grows. Tasks can wait for it, so that no test has to sleep.
final class Tally: Sendable {
    private struct State {
        var count = 0
        var next = 0
        var waiters: [Int: (threshold: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
        /// Waiters that were cancelled before they began to wait.
        var cancelled: Set<Int> = []
    }

    private let state = LockedValue(State())

    var count: Int { state.withLock { $0.count } }

    func add() {
        let ready = state.withLock { state in
            state.count += 1
            let ready = state.waiters.filter { $0.value.threshold <= state.count }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until the count has reached a threshold, for no longer than the limit.
    ///
    /// - Throws: ``TooFewRequests``; `CancellationError`.
    func reaches(_ threshold: Int, within limit: Duration) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.reaches(threshold) }
            group.addTask {
                try await Task.sleep(for: limit)
                throw TooFewRequests(expected: threshold, found: self.count, limit: limit)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Waits until the count has reached a threshold. Returns at once if it has.
    ///
    /// - Throws: `CancellationError`.
    func reaches(_ threshold: Int) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if state.count >= threshold { return .success(()) }
                    state.waiters[id] = (threshold, continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: id)
                if waiter == nil { state.cancelled.insert(id) }
                return waiter
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}

/// Fewer requests came within the limit than a test has waited for.
struct TooFewRequests: Error, CustomStringConvertible {
    let expected, found: Int
    let limit: Duration

    var description: String { "expected \(expected) requests within \(limit), found \(found)" }
}
