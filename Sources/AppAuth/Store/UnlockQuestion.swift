internal import AppAuthCore
internal import JOSE

/// The question to the person whether a keyring may be opened: one at a time in a process.
///
/// It is never taken back (see `libsecret_shims.h`), so it outlives the call that asked it. While it is open, for a night
/// perhaps, later calls wait for its answer, each for as long as it may, and neither ask again nor cost a thread.
final class UnlockQuestion: Sendable {
    static let current = UnlockQuestion()

    private struct State {
        var isOpen = false
        var waiting: [Int: Reply<Void>] = [:]
        var lastID = 0
    }

    private let state = Guarded(State())

    /// How many wait for an answer.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Asks the question, or waits for the answer to the one that is open.
    ///
    /// - Parameters:
    ///   - expiry: What the caller gets when the time is over. The question stays.
    ///   - ask: Asks, on a thread of its own, for as long as it takes.
    /// - Throws: What asking has thrown, whoever has asked; `CancellationError`.
    func answer(within limit: Duration, expiry: AuthError, _ ask: @escaping @Sendable () throws -> Void) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        defer { state.withLock { _ = $0.waiting.removeValue(forKey: id) } }
        try await reply(within: limit, expiry: expiry) { reply in
            let wasOpen = state.withLock { state in
                state.waiting[id] = reply
                defer { state.isOpen = true }
                return state.isOpen
            }
            if wasOpen { return }
            do {
                try SystemThread(named: "appauth-unlock", for: .store) { self.close(with: Result(catching: ask)) }
                    .detach()
            } catch {
                close(with: .failure(error))
            }
        }
    }

    private func close(with result: Result<Void, any Error>) {
        let waiting = state.withLock { state in
            defer { (state.isOpen, state.waiting) = (false, [:]) }
            return state.waiting.values
        }
        for reply in waiting { reply.give(result) }
    }
}
