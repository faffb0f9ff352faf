internal import AppAuthConcurrency
public import AppAuthProtocol

extension AuthState {
    /// A change of a session.
    public enum Change: Sendable {
        /// There are new tokens, from this process or from the store. The refresh token is stored. The rest is, too, unless
        /// ``storeFailed(_:)`` came before: it can be fetched again.
        case renewed(AuthStateRecord)
        /// The session is over: the user has to sign in again.
        case ended(AuthStateRecord.End)
        /// A refresh failed for a reason that may go away; ``AuthError/nextAttempt`` says when the next one is made.
        case refreshFailed(AuthError)
        /// The store has rejected new tokens or another change. The change is kept in memory, and the next call tries to
        /// store it again. If it has a new refresh token, no caller gets the access token that came with it before.
        case storeFailed(AuthError)
    }
}

/// The subscribers to a session's changes. Each receives every change after its subscription.
final class ChangeFeed: Sendable {
    private struct State {
        var nextID = 0
        var subscribers: [Int: AsyncStream<AuthState.Change>.Continuation] = [:]
    }

    private let state = LockedValue(State())
    /// If a subscriber does not read, it loses the oldest changes.
    private static let longestBuffer = 64

    func subscribe() -> AsyncStream<AuthState.Change> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: AuthState.Change.self, bufferingPolicy: .bufferingNewest(Self.longestBuffer))
        let id = state.withLock { state in
            state.nextID += 1
            state.subscribers[state.nextID] = continuation
            return state.nextID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.subscribers.removeValue(forKey: id) }
        }
        return stream
    }

    func publish(_ change: AuthState.Change) {
        for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.yield(change) }
    }

    deinit { for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.finish() } }
}
