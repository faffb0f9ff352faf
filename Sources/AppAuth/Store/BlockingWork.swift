internal import AppAuthConcurrency
internal import AppAuthProtocol

/// Runs blocking work, such as disk access or a lock, on a thread of its own, so that it does not block a thread that
/// other tasks need.
func onThread<Value: Sendable>(
    named name: String, for stage: AuthError.Stage, of location: String? = nil,
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withLockedContinuation { continuation in
        do {
            let thread = try SystemThread(named: name, for: stage, of: location) {
                continuation.resume(with: Result { try work() })
            }
            thread.detach()
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// Runs blocking work like ``onThread(named:for:of:_:)``, but returns when the caller's task is cancelled. The work
/// then goes on and its result is dropped.
func onThreadUnlessCancelled<Value: Sendable>(
    named name: String, of location: String, _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    let reply = Reply<Value>()
    return try await withTaskCancellationHandler {
        try await withLockedContinuation { continuation in
            guard reply.expect(continuation) else { return }
            do {
                try SystemThread(named: name, for: .store, of: location) { reply.give(Result { try work() }) }.detach()
            } catch {
                reply.give(.failure(error))
            }
        }
    } onCancel: {
        reply.give(.failure(CancellationError()))
    }
}

/// A continuation that is resumed by the first reply.
final class Reply<Value: Sendable>: Sendable {
    private enum State {
        case new
        case expected(LockedContinuation<Value>)
        case given(Result<Value, any Error>)
    }

    private let state = LockedValue(State.new)

    /// - Returns: Whether a reply is still to come. It is not if a reply, such as a cancellation, was already given.
    func expect(_ continuation: LockedContinuation<Value>) -> Bool {
        let given = state.withLock { state -> Result<Value, any Error>? in
            if case .given(let result) = state { return result }
            state = .expected(continuation)
            return nil
        }
        if let given { continuation.resume(with: given) }
        return given == nil
    }

    func give(_ result: Result<Value, any Error>) {
        let continuation = state.withLock { state -> LockedContinuation<Value>? in
            switch state {
            case .new:
                state = .given(result)
                return nil
            case .expected(let continuation):
                state = .given(result)
                return continuation
            case .given: return nil
            }
        }
        continuation?.resume(with: result)
    }
}
