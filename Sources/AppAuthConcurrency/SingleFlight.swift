/// Runs an operation once for all callers that ask while it runs. They share its result or its error.
///
/// A cancelled caller leaves at once with `CancellationError`. The operation continues, even if the last caller has
/// left. Each waiting caller costs a continuation: ten thousand tasks that await one `Task.value` take ten times as
/// long to wake.
package final class SingleFlight<Value: Sendable>: Sendable {
    package typealias Operation = @Sendable () async throws -> Value

    private let current = LockedValue<Run?>(nil)

    package init() {}

    /// The current run.
    package var running: Run? { current.withLock { $0 } }

    /// Starts the operation, or joins the current run.
    package func run(_ operation: @escaping Operation) async throws -> Value {
        try Task.checkCancellation()
        let (run, isNew) = current.withLock { current in
            if let current { return (current, false) }
            let run = Run()
            current = run
            return (run, true)
        }
        if isNew {
            Task {
                let result: Result<Value, any Error>
                do { result = .success(try await operation()) } catch { result = .failure(error) }
                // Later callers need a run of their own.
                current.withLock { $0 = nil }
                run.finish(result)
            }
        }
        return try await run.value()
    }

    /// The number of callers that wait for the current run.
    package var waitingCount: Int { running?.waitingCount ?? 0 }

    /// Waits for the current run, if there is one, to end. Ignores its result and the caller's cancellation.
    package func settle() async { await running?.settle() }

    /// One run of the operation, with the callers that wait for it.
    package final class Run: Sendable {
        private struct State {
            var result: Result<Value, any Error>?
            var waiting: [Waiter] = []
            /// The number of waiters that have not left.
            var count = 0
        }

        /// The state of one waiting caller, and all that its closures capture: thousands may wait, and the state of a
        /// waiting task must fit into the first kilobyte of its stack. The run's lock protects what changes.
        private final class Waiter: @unchecked Sendable {
            let run: Run
            var continuation: UnsafeContinuation<Value, any Error>?
            /// The cancellation may come before the continuation.
            var isCancelled = false

            init(_ run: Run) { self.run = run }
        }

        private let state = LockedValue(State())

        fileprivate init() {}

        /// Returns the result when the run has ended.
        package func value() async throws -> Value {
            let waiter = Waiter(self)
            return try await withTaskCancellationHandler {
                try await withUnsafeThrowingContinuation { waiter.run.enter(waiter, $0) }
            } onCancel: {
                waiter.run.leave(waiter)
            }
        }

        fileprivate func settle() async {
            _ = try? await withUnsafeThrowingContinuation { enter(Waiter(self), $0) }
        }

        fileprivate var waitingCount: Int { state.withLock { $0.count } }

        private func enter(_ waiter: Waiter, _ continuation: UnsafeContinuation<Value, any Error>) {
            let end: Result<Value, any Error>? = state.withLock { state in
                if waiter.isCancelled { return .failure(CancellationError()) }
                guard state.result == nil else { return state.result }
                waiter.continuation = continuation
                state.waiting.append(waiter)
                state.count += 1
                return nil
            }
            if let end { continuation.resume(with: end) }
        }

        private func leave(_ waiter: Waiter) {
            let continuation: UnsafeContinuation<Value, any Error>? = state.withLock { state in
                waiter.isCancelled = true
                // After the end, only ``finish(_:)`` touches the waiters.
                guard state.result == nil, let continuation = waiter.continuation else { return nil }
                waiter.continuation = nil
                state.count -= 1
                // Removes them in bulk: finding a single one takes time proportional to the number of waiters.
                if state.waiting.count > 2 * state.count + 64 { state.waiting.removeAll { $0.continuation == nil } }
                return continuation
            }
            continuation?.resume(throwing: CancellationError())
        }

        fileprivate func finish(_ result: Result<Value, any Error>) {
            let waiting = state.withLock { state in
                defer { (state.waiting, state.count) = ([], 0) }
                state.result = result
                return state.waiting
            }
            for waiter in waiting { waiter.continuation?.resume(with: result) }
        }
    }
}
