internal import AppAuthConcurrency
internal import AppAuthProtocol

/// Waits for a reply until the time limit passes or the caller's task is cancelled.
///
/// - Parameters:
///   - limit: The time limit and the error if it passes; nil for none.
///   - mayLeave: Returns whether the caller may still return without a reply.
///   - request: Starts the operation that gives the reply. If it throws, the error is the reply.
package func reply<Value: Sendable>(
    within limit: (duration: Duration, expiry: AuthError)? = nil,
    mayLeave: @escaping @Sendable () -> Bool = { true }, _ request: (Reply<Value>) throws -> Void
) async throws -> Value {
    let reply = Reply<Value>()
    let clock = limit.map { limit in
        Task {
            try await Task.sleep(for: limit.duration)
            if mayLeave() { reply.give(.failure(limit.expiry)) }
        }
    }
    defer { clock?.cancel() }
    return try await withTaskCancellationHandler {
        try await withLockedContinuation { continuation in
            guard reply.expect(continuation) else { return }
            do { try request(reply) } catch { reply.give(.failure(error)) }
        }
    } onCancel: {
        if mayLeave() { reply.give(.failure(CancellationError())) }
    }
}

/// A continuation that is resumed by the first reply.
package final class Reply<Value: Sendable>: Sendable {
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

    package func give(_ result: Result<Value, any Error>) {
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
