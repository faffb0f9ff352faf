import AppAuthConcurrency
import JOSE

/// A value that changes on other threads. A test waits for it instead of sleeping.
final class Watched<Value: Sendable>: Sendable {
    private struct Waiter: Sendable {
        let isReady: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State: Sendable {
        var value: Value
        var next = 0
        var waiters: [Int: Waiter] = [:]
        /// Waiters that were cancelled before they began to wait.
        var cancelled: Set<Int> = []
    }

    private let state: LockedValue<State>

    init(_ value: Value) { state = LockedValue(State(value: value)) }

    var value: Value { state.withLock { $0.value } }

    func change(_ body: @Sendable (inout Value) -> Void) {
        let ready = state.withLock { state in
            body(&state.value)
            let ready = state.waiters.filter { $0.value.isReady(state.value) }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values.map(\.continuation)
        }
        for continuation in ready { continuation.resume() }
    }

    /// Waits until the function finds a result in the value, and returns it.
    ///
    /// - Parameter limit: Longer than a process of a test takes, even if the machine is busy.
    /// - Throws: ``NotFound``; `CancellationError`.
    func wait<Found: Sendable>(
        within limit: Duration = .seconds(120), for find: @escaping @Sendable (Value) -> Found?
    ) async throws -> Found {
        try await withThrowingTaskGroup(of: Found.self) { group in
            group.addTask {
                while true {
                    if let found = find(self.value) { return found }
                    try await self.wait { find($0) != nil }
                }
            }
            group.addTask {
                try await Task.sleep(for: limit)
                throw NotFound(description: "not found within \(limit) in: \(self.value)")
            }
            defer { group.cancelAll() }
            guard let found = try await group.next() else { throw CancellationError() }
            return found
        }
    }

    private func wait(until isReady: @escaping @Sendable (Value) -> Bool) async throws {
        let id = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
                    if isReady(state.value) { return .success(()) }
                    state.waiters[id] = Waiter(isReady: isReady, continuation: continuation)
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

/// What a test waited for did not happen within the limit.
struct NotFound: Error, CustomStringConvertible { let description: String }
