public import AppAuthProtocol
internal import JOSE

extension AuthState {
    /// Something that happened to a session.
    public enum Change: Sendable {
        /// There are new tokens, got by this process or found in the store; they are stored.
        case renewed(AuthStateRecord)
        /// The session is over: the person has to sign in again.
        case ended(AuthStateRecord.End)
        /// A refresh failed for a reason that may go away; ``AuthError/nextAttempt`` says when the next is made.
        case refreshFailed(AuthError)
        /// New tokens could not be stored. They are kept, nobody gets them, and the next call tries again.
        case storeFailed(AuthError)
    }
}

/// Tells each subscriber everything from the moment on at which it subscribed.
final class ChangeFeed: Sendable {
    private struct State {
        var nextID = 0
        var subscribers: [Int: AsyncStream<AuthState.Change>.Continuation] = [:]
    }

    private let state = LockedValue(State())
    /// A subscriber that does not listen loses the oldest.
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
