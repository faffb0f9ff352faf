internal import AppAuthCore
internal import JOSE

/// Runs what blocks, a disk or a lock, on a thread of its own, so that no thread is held up that other tasks need.
func onThread<Value: Sendable>(
    named name: String, _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withGuardedContinuation { continuation in
        do {
            try SystemThread(named: name) { continuation.resume(with: Result { try work() }) }.detach()
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// The same for a caller that leaves when its task is cancelled. The work goes on; nobody gets its result.
func onThreadUnlessCancelled<Value: Sendable>(
    named name: String, _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    let reply = Reply<Value>()
    return try await withTaskCancellationHandler {
        try await withGuardedContinuation { continuation in
            guard reply.expect(continuation) else { return continuation.resume(throwing: CancellationError()) }
            do {
                try SystemThread(named: name) { reply.give(Result { try work() }) }.detach()
            } catch {
                reply.give(.failure(error))
            }
        }
    } onCancel: {
        reply.give(.failure(CancellationError()))
    }
}

/// A continuation that is resumed by whoever comes first.
final class Reply<Value: Sendable>: Sendable {
    private enum State {
        case new, given
        case expected(GuardedContinuation<Value>)
    }

    private let state = Guarded(State.new)

    /// - Returns: Whether a reply may still come; not if the caller has been cancelled already.
    func expect(_ continuation: GuardedContinuation<Value>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .expected(continuation)
            return true
        }
    }

    func give(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> GuardedContinuation<Value>? in
            defer { state = .given }
            guard case .expected(let continuation) = state else { return nil }
            return continuation
        }
        continuation?.resume(with: result)
    }
}
