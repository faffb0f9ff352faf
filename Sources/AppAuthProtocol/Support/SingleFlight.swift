internal import JOSE

/// One run of an operation for all who ask while it runs: they share its result, also when it fails.
///
/// A caller that is cancelled leaves at once with `CancellationError`; the operation goes on, also when the last caller
/// has left. Waiting costs a continuation each: ten thousand tasks that await one `Task.value` take ten times as long to
/// wake.
package final class SingleFlight<Value: Sendable>: Sendable {
    package typealias Operation = @Sendable () async throws -> Value

    private let current = LockedValue<Run?>(nil)

    package init() {}

    /// The run that is under way.
    package var running: Run? { current.withLock { $0 } }

    /// Starts the operation, or joins the one that is running.
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
                // Whoever comes from now on needs a run of its own.
                current.withLock { $0 = nil }
                run.finish(result)
            }
        }
        return try await run.value()
    }

    /// How many wait for the run that is under way.
    package var waitingCount: Int { running?.waitingCount ?? 0 }

    /// Waits for the run that is under way, if there is one, whatever its result; also when the caller is cancelled.
    package func settle() async { await running?.settle() }

    /// One run, and those who wait for it.
    package final class Run: Sendable {
        private struct State {
            var result: Result<Value, any Error>?
            var waiting: [Waiter] = []
            /// How many of them have not left.
            var count = 0
        }

        /// What a wait needs, and all that its closures capture: thousands may wait, and what a waiting task keeps has to
        /// fit into the first kilobyte of its stack. What changes is the lock's of the run.
        private final class Waiter: @unchecked Sendable {
            let run: Run
            var continuation: UnsafeContinuation<Value, any Error>?
            /// Its cancellation may come before its continuation.
            var isCancelled = false

            init(_ run: Run) { self.run = run }
        }

        private let state = LockedValue(State())

        fileprivate init() {}

        /// Its result, once it has ended.
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
                // After the end the waiters are those of ``finish(_:)`` alone.
                guard state.result == nil, let continuation = waiter.continuation else { return nil }
                waiter.continuation = nil
                state.count -= 1
                // Not one by one: to find one takes as long as there are others.
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
