internal import JOSE

/// One run of an operation for all who ask while it runs: they share its result, also when it fails.
///
/// A caller that is cancelled leaves at once with `CancellationError`; the operation goes on, also when the last caller
/// has left. Waiting costs a continuation each: ten thousand tasks that await one `Task.value` take ten times as long to
/// wake.
package final class SingleFlight<Value: Sendable>: Sendable {
    /// Nil means that there was nothing to wait for.
    private typealias Waiter = UnsafeContinuation<Value?, any Error>

    private struct State {
        var isRunning = false
        var nextID = 0
        var waiting: [Int: Waiter] = [:]
        /// Who waits for the end, and not for the result.
        var settling: [CheckedContinuation<Void, Never>] = []
        /// Callers whose cancellation came before their continuation.
        var cancelled: Set<Int> = []
    }

    private enum Step { case gone, nothing, wait, start }

    private let state = Guarded(State())

    package init() {}

    /// Starts the operation, or joins the one that is running.
    package func run(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        while true {
            if let value = try await wait(startingWith: operation) { return value }
        }
    }

    /// Joins the operation that is running; nil if none is. Costs less than ``run(_:)`` where many wait.
    package func join() async throws -> Value? { try await wait(startingWith: nil) }

    /// Whether a run is under way.
    package var isRunning: Bool { state.withLock { $0.isRunning } }

    /// Waits for the run that is under way, if there is one, whatever its result.
    package func settle() async {
        await withCheckedContinuation { (settled: CheckedContinuation<Void, Never>) in
            let isRunning = state.withLock { state in
                if state.isRunning { state.settling.append(settled) }
                return state.isRunning
            }
            if !isRunning { settled.resume() }
        }
    }

    private func wait(startingWith operation: (@Sendable () async throws -> Value)?) async throws -> Value? {
        let id = state.withLock { state -> Int? in
            guard state.isRunning || operation != nil else { return nil }
            state.nextID += 1
            return state.nextID
        }
        guard let id else { return nil }
        // A cancellation that comes after the result leaves its mark behind.
        defer { if Task.isCancelled { state.withLock { _ = $0.cancelled.remove(id) } } }
        return try await withTaskCancellationHandler {
            try await withUnsafeThrowingContinuation { waiter in enter(id, waiter, operation) }
        } onCancel: {
            leave(id)
        }
    }

    private func enter(_ id: Int, _ waiter: Waiter, _ operation: (@Sendable () async throws -> Value)?) {
        let step: Step = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .gone }
            guard state.isRunning || operation != nil else { return .nothing }
            state.waiting[id] = waiter
            defer { state.isRunning = true }
            return state.isRunning ? .wait : .start
        }
        switch (step, operation) {
        case (.gone, _): waiter.resume(throwing: CancellationError())
        case (.start, let operation?):
            Task {
                let result: Result<Value?, any Error>
                do { result = .success(try await operation()) } catch { result = .failure(error) }
                finish(result)
            }
        case (.wait, _): break
        case (.nothing, _), (.start, nil): waiter.resume(returning: nil)
        }
    }

    private func finish(_ result: Result<Value?, any Error>) {
        let (waiting, settling) = state.withLock { state in
            defer { (state.isRunning, state.waiting, state.settling) = (false, [:], []) }
            return (state.waiting, state.settling)
        }
        for waiter in waiting.values { waiter.resume(with: result) }
        for continuation in settling { continuation.resume() }
    }

    private func leave(_ id: Int) {
        let waiter = state.withLock { state in
            let waiter = state.waiting.removeValue(forKey: id)
            if waiter == nil { state.cancelled.insert(id) }
            return waiter
        }
        waiter?.resume(throwing: CancellationError())
    }
}
