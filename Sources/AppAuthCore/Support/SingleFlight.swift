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

    private typealias Waiter = UnsafeContinuation<End, Never>

    private struct State {
        var run: Run?
        var nextID = 0
        var waiting: [Int: Waiter] = [:]
        /// Who waits for the end, and not for the result.
        var settling: [CheckedContinuation<Void, Never>] = []
        /// Callers whose cancellation came before their continuation.
        var cancelled: Set<Int> = []
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
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        // A cancellation that comes after the result leaves its mark behind.
        defer { if Task.isCancelled { state.withLock { _ = $0.cancelled.remove(id) } } }
        return await withTaskCancellationHandler {
            await withUnsafeContinuation { waiter in enter(id, waiter, operation) }
        } onCancel: {
            leave(id)
        }
    }

    private func enter(_ id: Int, _ waiter: Waiter, _ operation: Operation?) {
        let (end, begun): (End?, Run?) = state.withLock { state in
            if state.cancelled.remove(id) != nil { return (.cancelled, nil) }
            guard state.run != nil || operation != nil else { return (.nothing, nil) }
            state.waiting[id] = waiter
            guard state.run == nil else { return (nil, nil) }
            let run = Run()
            state.run = run
            return (nil, run)
        }
        if let end { waiter.resume(returning: end) }
        guard let begun, let operation else { return }
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
        for waiter in waiting.values { waiter.resume(returning: .ended(run)) }
        for continuation in settling { continuation.resume() }
    }

    private func leave(_ id: Int) {
        let waiter = state.withLock { state in
            let waiter = state.waiting.removeValue(forKey: id)
            if waiter == nil { state.cancelled.insert(id) }
            return waiter
        }
        waiter?.resume(returning: .cancelled)
    }
}
