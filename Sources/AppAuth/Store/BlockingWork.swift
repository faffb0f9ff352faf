internal import AppAuthConcurrency
internal import AppAuthProtocol

/// Runs blocking work, such as disk access or a lock, on a thread of its own, so that it does not block a thread that
/// other tasks need.
///
/// - Parameter commitment: The commitment that `work` makes. Until then, a cancelled caller returns. Without one, the
///   caller waits for the end of the work.
func onThread<Value: Sendable>(
    named name: String, for stage: AuthError.Stage, of location: String? = nil, _ commitment: Commitment? = nil,
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await reply(mayLeave: { commitment?.abandon() ?? false }) { reply in
        try SystemThread(named: name, for: stage, of: location) { reply.give(Result(catching: work)) }.detach()
    }
}

/// Runs blocking work like ``onThread(named:for:of:_:)``, but returns when the caller's task is cancelled. The work
/// then goes on and its result is dropped.
func onThreadUnlessCancelled<Value: Sendable>(
    named name: String, of location: String, _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await reply { reply in
        try SystemThread(named: name, for: .store, of: location) { reply.give(Result(catching: work)) }.detach()
    }
}

/// Runs work that a service may block on a thread of its own. If the time limit passes or the caller's task is
/// cancelled, the caller returns and the work goes on. Once the work has made its ``Commitment``, it may change
/// something, so the caller waits for the outcome.
///
/// - Parameters:
///   - location: The store, for messages.
///   - limit: How long the caller waits for work that has not made its commitment, and the error if that passes.
///   - commitment: The commitment that `work` makes before it changes anything.
func onThread<Value: Sendable>(
    named name: String, of location: String, within limit: (duration: Duration, expiry: AuthError),
    _ commitment: Commitment, _ work: @escaping @Sendable (Commitment) throws -> Value
) async throws -> Value {
    try await reply(within: limit, mayLeave: { commitment.abandon() }) { reply in
        try SystemThread(named: name, for: .store, of: location) { reply.give(Result { try work(commitment) }) }
            .detach()
    }
}
