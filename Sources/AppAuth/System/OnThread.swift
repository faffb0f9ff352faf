internal import AppAuthProtocol

/// Runs blocking work, such as disk access or a lock, on a thread of its own, so that it does not block a thread that
/// other tasks need.
///
/// If the time limit passes or the caller's task is cancelled before the work has made its ``Commitment``, the caller
/// returns, and the work goes on. After that the work may have changed something, so the caller waits for its end.
///
/// - Parameters:
///   - location: The store, for messages.
///   - limit: How long the caller waits for work that has not made its commitment, and the error if that passes.
///   - commitment: The commitment that `work` makes before it changes anything. If it is nil, the caller waits for the
///     end of the work.
func onThread<Value: Sendable>(
    named name: String, for stage: AuthError.Stage = .store, of location: String? = nil,
    within limit: (duration: Duration, expiry: AuthError)? = nil, _ commitment: Commitment?,
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await reply(within: limit, mayLeave: { commitment?.abandon() ?? false }) { reply in
        try SystemThread(named: name, for: stage, of: location) { reply.give(Result(catching: work)) }.detach()
    }
}
