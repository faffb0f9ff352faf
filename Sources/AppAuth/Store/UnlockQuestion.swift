internal import AppAuthConcurrency
internal import AppAuthProtocol

/// The prompt that asks the user to unlock a keyring. A process shows one at a time.
///
/// A prompt is never withdrawn (see `libsecret_shims.h`), so it outlives the call that showed it. While it is open,
/// perhaps overnight, other callers that need a prompt wait for its result until their own time limit. They do not
/// block a thread.
final class UnlockQuestion: Sendable {
    static let current = UnlockQuestion()

    fileprivate struct State {
        /// The location that the open prompt is for, or nil.
        var open: String?
        var waiting: [Int: (location: String, reply: Reply<Void>)] = [:]
        var lastID = 0
    }

    private let state = LockedValue(State())

    /// The number of callers that wait for a result.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

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
        let (id, hasAsked) = (state.withLock { $0.newID() }, LockedValue(false))
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }
        try await reply(within: (limit, expiry)) { reply in
            let wasOpen = state.withLock { state in
                state.waiting[id] = (location, reply)
                defer { state.open = state.open ?? location }
                return state.open != nil
            }
            if wasOpen { return }
            hasAsked.withLock { $0 = true }
            do {
                let thread = try SystemThread(named: "appauth-unlock", for: .store, of: location) {
                    self.close(with: Result(catching: ask))
                }
                thread.detach()
            } catch {
                close(with: .failure(error))
            }
        }
        return hasAsked.withLock { $0 }
    }

    private func close(with result: Result<Void, any Error>) {
        let (location, waiting) = state.withLock { state in
            defer { (state.open, state.waiting) = (nil, [:]) }
            return (state.open, state.waiting.values)
        }
        // A failed prompt for another location does not apply to this one.
        for waiter in waiting { waiter.reply.give(waiter.location == location ? result : .success(())) }
    }
}

extension UnlockQuestion.State {
    fileprivate mutating func newID() -> Int {
        lastID += 1
        return lastID
    }
}
