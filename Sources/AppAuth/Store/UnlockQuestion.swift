internal import AppAuthConcurrency
internal import AppAuthProtocol

/// The prompt that asks the user to unlock a keyring. A process shows one at a time.
///
/// A prompt is never withdrawn (see `libsecret_shims.h`), so it outlives the call that showed it. While it is open,
/// perhaps overnight, other callers that need a prompt wait for its result until their own time limit. They do not
/// block a thread.
final class UnlockQuestion: Sendable {
    static let current = UnlockQuestion()

    private let prompt = SingleFlight<(location: String, result: Result<Void, any Error>)>()

    /// The number of callers that wait for a result.
    var waitingCount: Int { prompt.waitingCount }

    /// Prompts for a location, or waits for the result of the open prompt.
    ///
    /// - Parameters:
    ///   - location: The store to unlock.
    ///   - limit: How long the caller waits.
    ///   - expiry: The error if the time limit passes. The prompt stays open.
    ///   - ask: Prompts the user, on a thread of its own, without a limit.
    /// - Returns: Whether this call showed the prompt. If not, the caller may need a prompt of its own: a user may
    ///   unlock one keyring and not another, or only for one use.
    /// - Throws: The error of the prompt for this location, regardless of the call that showed it; `CancellationError`.
    func answer(
        for location: String, within limit: Duration, expiry: AuthError, _ ask: @escaping @Sendable () throws -> Void
    ) async throws -> Bool {
        let hasAsked = LockedValue(false)
        let answer = try await firstResult { [prompt] in
            try await prompt.run {
                hasAsked.withLock { $0 = true }
                do {
                    try await onThread(named: "appauth-unlock", of: location, nil, ask)
                    return (location, .success(()))
                } catch { return (location, .failure(error)) }
            }
        } or: {
            try await Task.sleep(for: limit)
            throw expiry
        }
        // A failed prompt for another location does not apply to this one.
        if answer.location == location { try answer.result.get() }
        return hasAsked.withLock { $0 }
    }
}
