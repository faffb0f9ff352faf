internal import AppAuthConcurrency

/// The subscribers to a session's changes. Each receives every change after its subscription.
final class ChangeFeed: Sendable {
    private struct State {
        var nextID = 0
        var subscribers: [Int: AsyncStream<SessionChange>.Continuation] = [:]
    }

    private let state = LockedValue(State())
    /// If a subscriber does not read, it loses the oldest changes.
    private static let longestBuffer = 64

    func subscribe() -> AsyncStream<SessionChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: SessionChange.self, bufferingPolicy: .bufferingNewest(Self.longestBuffer))
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

    func publish(_ change: SessionChange) {
        for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.yield(change) }
    }

    deinit { for subscriber in state.withLock({ Array($0.subscribers.values) }) { subscriber.finish() } }
}
