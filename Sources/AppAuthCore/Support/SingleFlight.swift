internal import JOSE

/// One run of an operation for all who ask while it runs: they share its result, also when it fails.
///
/// A caller that is cancelled leaves at once with `CancellationError`; the operation goes on, also when the last caller
/// has left. Waiting costs a continuation each: ten thousand tasks that await one `Task.value` take ten times as long to
/// wake.
///
/// What waits is kept small, since thousands may: a waiting task holds a reference, and reads the result when it wakes.
package final class SingleFlight<Value: Sendable>: Sendable {
    package typealias Operation = @Sendable () async throws -> Value

    /// One run, and its result once it has ended.
    private final class Run: Sendable {
        let result = Guarded<Result<Value, any Error>?>(nil)
    }

    /// How a wait ends: with a run, or with nothing to wait for, or by a cancellation.
    private enum End: Sendable {
        case ended(Run)
        case nothing, cancelled
    }

    /// A caller that waits. What changes in it is the lock's of the flight.
    ///
    /// It is all that the closures of a wait capture, so that they need no place of their own in the waiting task.
    private final class Waiter: @unchecked Sendable {
        let flight: SingleFlight
        /// What it starts if nothing runs; nil for one that only joins.
        let operation: Operation?
        var continuation: UnsafeContinuation<End, Never>?
        /// Its cancellation may come before its continuation.
        var isCancelled = false

        init(_ flight: SingleFlight, _ operation: Operation?) { (self.flight, self.operation) = (flight, operation) }
    }

    private struct State {
        var run: Run?
        var waiting: [ObjectIdentifier: Waiter] = [:]
        /// Who waits for the end, and not for the result.
        var settling: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Guarded(State())

    package init() {}

    /// Starts the operation, or joins the one that is running.
    package func run(_ operation: @escaping Operation) async throws -> Value {
        while true {
            if let value = try Self.value(of: await wait(startingWith: operation)) { return value }
        }
    }

    /// Joins the operation that is running; nil if none is. Costs less than ``run(_:)`` where many wait.
    package func join() async throws -> Value? { try Self.value(of: await wait(startingWith: nil)) }

    private static func value(of end: End) throws -> Value? {
        switch end {
        case .ended(let run): try run.result.withLock { $0 }?.get()
        case .nothing: nil
        case .cancelled: throw CancellationError()
        }
    }

    /// Whether a run is under way.
    package var isRunning: Bool { state.withLock { $0.run != nil } }

    /// How many wait for the run that is under way.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for the run that is under way, if there is one, whatever its result.
    package func settle() async {
        await withCheckedContinuation { (settled: CheckedContinuation<Void, Never>) in
            let isRunning = state.withLock { state in
                if state.run != nil { state.settling.append(settled) }
                return state.run != nil
            }
            if !isRunning { settled.resume() }
        }
    }

    private func wait(startingWith operation: Operation?) async -> End {
        let waiter = Waiter(self, operation)
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in waiter.flight.enter(waiter, continuation) }
        } onCancel: {
            waiter.flight.leave(waiter)
        }
    }

    private func enter(_ waiter: Waiter, _ continuation: UnsafeContinuation<End, Never>) {
        let (end, begun): (End?, Run?) = state.withLock { state in
            if waiter.isCancelled { return (.cancelled, nil) }
            guard state.run != nil || waiter.operation != nil else { return (.nothing, nil) }
            waiter.continuation = continuation
            state.waiting[ObjectIdentifier(waiter)] = waiter
            guard state.run == nil else { return (nil, nil) }
            let run = Run()
            state.run = run
            return (nil, run)
        }
        if let end { continuation.resume(returning: end) }
        guard let begun, let operation = waiter.operation else { return }
        Task {
            let result: Result<Value, any Error>
            do { result = .success(try await operation()) } catch { result = .failure(error) }
            finish(begun, result)
        }
    }

    private func finish(_ run: Run, _ result: Result<Value, any Error>) {
        run.result.withLock { $0 = result }
        let (waiting, settling) = state.withLock { state in
            defer { (state.run, state.waiting, state.settling) = (nil, [:], []) }
            return (state.waiting, state.settling)
        }
        // Nobody else has them any more.
        for waiter in waiting.values { waiter.continuation?.resume(returning: .ended(run)) }
        for continuation in settling { continuation.resume() }
    }

    private func leave(_ waiter: Waiter) {
        let continuation = state.withLock { state in
            waiter.isCancelled = true
            return state.waiting.removeValue(forKey: ObjectIdentifier(waiter))?.continuation
        }
        continuation?.resume(returning: .cancelled)
    }
}
