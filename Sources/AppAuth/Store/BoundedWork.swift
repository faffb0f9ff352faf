internal import AppAuthProtocol
internal import JOSE

/// Runs what a service may hold up on a thread of its own, and leaves it there when the time is over or the caller's task
/// is cancelled. From its ``Commitment`` on, the work can no longer be left: it is about to change something, and whoever
/// is told that it failed may rely on that.
///
/// - Parameters:
///   - place: The store, for messages.
///   - expiry: What the caller gets when the time is over.
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

/// Waits for a reply, but no longer than the limit, and only until the caller's task is cancelled.
///
/// - Parameters:
///   - mayLeave: Whether the caller may still go without it.
///   - request: Sees to it that the reply is given.
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

/// Whether somebody still waits for the work.
final class Commitment: Sendable {
    private enum State { case open, made, abandoned }

    private let state = LockedValue(State.open)

    /// From now on the caller waits for the end, however long it takes.
    ///
    /// - Throws: `CancellationError` if nobody waits any more: then nothing may be changed.
    func make() throws {
        try state.withLock { state in
            if state == .abandoned { throw CancellationError() }
            state = .made
        }
    }

    /// - Throws: `CancellationError` if nobody waits any more.
    func check() throws { if state.withLock({ $0 == .abandoned }) { throw CancellationError() } }

    /// Whether something may have been changed.
    var isMade: Bool { state.withLock { $0 == .made } }

    /// - Returns: Whether the work is left alone.
    fileprivate func abandon() -> Bool {
        state.withLock { state in
            if state == .open { state = .abandoned }
            return state == .abandoned
        }
    }
}
