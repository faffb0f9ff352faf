internal import AppAuthConcurrency
internal import AppAuthProtocol

/// Runs work that a service may block on a thread of its own. If the time limit passes or the caller's task is
/// cancelled, the caller returns and the work goes on. Once the work has made its ``Commitment``, it may change
/// something, so the caller waits for the outcome.
///
/// - Parameters:
///   - location: The store, for messages.
///   - limit: How long the caller waits for work that has not made its commitment.
///   - expiry: The error if the time limit passes.
///   - commitment: The commitment that `work` makes before it changes anything.
func onThread<Value: Sendable>(
    named name: String, of location: String, within limit: Duration, expiry: AuthError,
    _ commitment: Commitment, _ work: @escaping @Sendable (Commitment) throws -> Value
) async throws -> Value {
    try await reply(within: limit, expiry: expiry, mayLeave: { commitment.abandon() }) { reply in
        do {
            try SystemThread(named: name, for: .store, of: location) { reply.give(Result { try work(commitment) }) }
                .detach()
        } catch {
            reply.give(.failure(error))
        }
    }
}

/// Waits for a reply until the time limit passes or the caller's task is cancelled.
///
/// - Parameters:
///   - limit: The time limit.
///   - expiry: The error if the time limit passes.
///   - mayLeave: Returns whether the caller may still return without a reply.
///   - request: Starts the operation that gives the reply.
func reply<Value: Sendable>(
    within limit: Duration, expiry: AuthError, mayLeave: @escaping @Sendable () -> Bool = { true },
    _ request: (Reply<Value>) -> Void
) async throws -> Value {
    let reply = Reply<Value>()
    let clock = Task {
        try await Task.sleep(for: limit)
        if mayLeave() { reply.give(.failure(expiry)) }
    }
    defer { clock.cancel() }
    return try await withTaskCancellationHandler {
        try await withLockedContinuation { continuation in
            guard reply.expect(continuation) else { return }
            request(reply)
        }
    } onCancel: {
        if mayLeave() { reply.give(.failure(CancellationError())) }
    }
}

/// A flag that decides between work and its caller: the caller leaves, or the work commits to its change.
final class Commitment: Sendable {
    private enum State { case open, made, abandoned }

    private let state = LockedValue(State.open)

    /// Commits to the change. From now on, the caller waits for the end of the work.
    ///
    /// - Throws: `CancellationError` if the caller has left. The work must then change nothing.
    func make() throws {
        try state.withLock { state in
            if state == .abandoned { throw CancellationError() }
            state = .made
        }
    }

    /// - Throws: `CancellationError` if the caller has left.
    func check() throws { if state.withLock({ $0 == .abandoned }) { throw CancellationError() } }

    /// Whether the work may have changed something.
    var isMade: Bool { state.withLock { $0 == .made } }

    /// - Returns: Whether the caller may leave the work.
    fileprivate func abandon() -> Bool {
        state.withLock { state in
            if state == .open { state = .abandoned }
            return state == .abandoned
        }
    }
}
