internal import AppAuthCore
internal import JOSE

/// Runs what a person may hold up on a thread of its own, and leaves it there when the time is over or the caller's task
/// is cancelled. From its ``Commitment`` on, the work can no longer be left: it is about to change something, and whoever
/// is told that it failed may rely on that.
///
/// - Parameter expiry: What the caller gets when the time is over.
func onThread<Value: Sendable>(
    named name: String, within limit: Duration, expiry: AuthError,
    _ work: @escaping @Sendable (Commitment) throws -> Value
) async throws -> Value {
    let (reply, commitment) = (Reply<Value>(), Commitment())
    let clock = Task {
        try await Task.sleep(for: limit)
        if commitment.abandon() { reply.give(.failure(expiry)) }
    }
    defer { clock.cancel() }
    return try await withTaskCancellationHandler {
        try await withGuardedContinuation { continuation in
            guard reply.expect(continuation) else { return continuation.resume(throwing: CancellationError()) }
            do {
                try SystemThread(named: name) { reply.give(Result { try work(commitment) }) }.detach()
            } catch {
                reply.give(.failure(error))
            }
        }
    } onCancel: {
        if commitment.abandon() { reply.give(.failure(CancellationError())) }
    }
}

/// Whether somebody still waits for the work.
final class Commitment: Sendable {
    private enum State { case open, made, abandoned }

    private let state = Guarded(State.open)

    /// From now on the caller waits for the end, however long it takes.
    ///
    /// - Throws: `CancellationError` if nobody waits any more: then nothing may be changed.
    func make() throws {
        try state.withLock { state in
            if state == .abandoned { throw CancellationError() }
            state = .made
        }
    }

    /// Whether the caller waits for the end, however long it takes.
    var isMade: Bool { state.withLock { $0 == .made } }

    /// - Returns: Whether the work is left alone.
    fileprivate func abandon() -> Bool {
        state.withLock { state in
            if state == .open { state = .abandoned }
            return state == .abandoned
        }
    }
}
