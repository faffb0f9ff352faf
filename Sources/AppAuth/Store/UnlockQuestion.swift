internal import AppAuthProtocol
internal import JOSE

/// The question to the person whether a keyring may be opened: one at a time in a process.
///
/// It is never taken back (see `libsecret_shims.h`), so it outlives the call that asked it. While it is open, for a night
/// perhaps, whoever else would ask waits for its answer, for as long as it may, and costs no thread.
final class UnlockQuestion: Sendable {
    static let current = UnlockQuestion()

    fileprivate struct State {
        /// What is asked for.
        var open: String?
        var waiting: [Int: (location: String, reply: Reply<Void>)] = [:]
        var lastID = 0
    }

    private let state = LockedValue(State())

    /// How many wait for an answer.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Asks for a place, or waits for the answer to the question that is open.
    ///
    /// - Parameters:
    ///   - expiry: What the caller gets when the time is over. The question stays.
    ///   - ask: Asks, on a thread of its own, for as long as it takes.
    /// - Returns: Whether this caller was the one that asked. If not, it may have to: a person may unlock one place and not
    ///   another, or for one use only.
    /// - Throws: What asking for this place has thrown, whoever has asked; `CancellationError`.
    func answer(
        for location: String, within limit: Duration, expiry: AuthError, _ ask: @escaping @Sendable () throws -> Void
    ) async throws -> Bool {
        let (id, hasAsked) = (state.withLock { $0.newID() }, LockedValue(false))
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }
        try await reply(within: limit, expiry: expiry) { reply in
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
        // A no to another place says nothing of one's own.
        for waiter in waiting { waiter.reply.give(waiter.location == location ? result : .success(())) }
    }
}

extension UnlockQuestion.State {
    fileprivate mutating func newID() -> Int {
        lastID += 1
        return lastID
    }
}
