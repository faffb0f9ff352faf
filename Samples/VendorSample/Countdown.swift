internal import Synchronization

/// Tells the user every ten seconds how long the program still waits for the browser.
public final class Countdown: Sendable {
    private let end: ContinuousClock.Instant
    private let task = Mutex<Task<Void, any Error>?>(nil)

    /// - Parameter limit: The time from now on.
    public init(_ limit: Duration) { end = .now + limit }

    /// Begins to tell.
    public func start() {
        let counting = Task { [end] in
            while case let rest = ContinuousClock.now.duration(to: end), rest > .zero {
                tell("Waiting for the browser: \(rest.components.seconds + 1) seconds left.")
                try await Task.sleep(for: min(rest, .seconds(10)))
            }
        }
        task.withLock { $0 = counting }
    }

    /// Tells no more.
    public func stop() { task.withLock { $0?.cancel() } }
}
