internal import JOSE

/// One run of an operation for all who ask while it runs: they share its result, also when it fails.
///
/// A caller that is cancelled leaves at once with `CancellationError`; the operation goes on, also when the last caller
/// has left. Waiting costs a continuation each: ten thousand tasks that await one `Task.value` take ten times as long to
/// wake.
package final class SingleFlight<Value: Sendable>: Sendable {
    private struct State {
        var isRunning = false
        var nextID = 0
        var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// Who waits for the end, and not for the result.
        var settling: [CheckedContinuation<Void, Never>] = []
        /// Callers whose cancellation came before their continuation.
        var cancelled: Set<Int> = []
    }

    private enum Step { case gone, wait, start }

    private let state = Guarded(State())

    package init() {}

    /// Starts the operation, or joins the one that is running.
    package func run(_ operation: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        // A cancellation that comes after the result leaves its mark behind.
        defer { state.withLock { _ = $0.cancelled.remove(id) } }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                enter(id, continuation, operation)
            }
        } onCancel: {
            leave(id)
        }
    }

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

    private func enter(
        _ id: Int, _ continuation: CheckedContinuation<Value, any Error>,
        _ operation: @escaping @Sendable () async throws -> Value
    ) {
        let step: Step = state.withLock { state in
            if state.cancelled.remove(id) != nil { return .gone }
            state.waiting[id] = continuation
            defer { state.isRunning = true }
            return state.isRunning ? .wait : .start
        }
        switch step {
        case .gone: continuation.resume(throwing: CancellationError())
        case .wait: break
        case .start:
            Task {
                let result: Result<Value, any Error>
                do { result = .success(try await operation()) } catch { result = .failure(error) }
                finish(result)
            }
        }
    }

    private func finish(_ result: Result<Value, any Error>) {
        let (waiting, settling) = state.withLock { state in
            defer { (state.isRunning, state.waiting, state.settling) = (false, [:], []) }
            return (state.waiting, state.settling)
        }
        for continuation in waiting.values { continuation.resume(with: result) }
        for continuation in settling { continuation.resume() }
    }

    private func leave(_ id: Int) {
        let continuation = state.withLock { state in
            let continuation = state.waiting.removeValue(forKey: id)
            if continuation == nil { state.cancelled.insert(id) }
            return continuation
        }
        continuation?.resume(throwing: CancellationError())
    }
}
