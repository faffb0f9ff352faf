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
    /// - Throws: `CancellationError`.
    func wait<Found: Sendable>(for find: @escaping @Sendable (Value) -> Found?) async throws -> Found {
        while true {
            if let found = find(value) { return found }
            try await wait { find($0) != nil }
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
