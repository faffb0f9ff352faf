internal import AppAuthConcurrency
internal import Glibc

/// A flag that decides between work and its caller: the caller leaves, or the work commits to its change.
final class Commitment: Sendable {
    private enum State { case open, made, abandoned }

    private let state = LockedValue(State.open)

    /// Commits to the change. From now on, the caller waits for the end of the work.
    ///
    /// - Throws: `CancellationError` if the caller has left. The work must then change nothing.
    func make() throws {
        try state.withLock { state in
            if state == .abandoned { throw CancellationError() }
            state = .made
        }
    }

    /// - Throws: `CancellationError` if the caller has left.
    func check() throws { if state.withLock({ $0 == .abandoned }) { throw CancellationError() } }

    /// Whether the work may have changed something.
    var isMade: Bool { state.withLock { $0 == .made } }

    /// - Returns: Whether the caller may leave the work.
    func abandon() -> Bool {
        state.withLock { state in
            if state == .open { state = .abandoned }
            return state == .abandoned
        }
    }

    /// Polls until a condition holds, and blocks the calling thread.
    ///
    /// - Returns: Whether it holds; false if the limit has passed.
    /// - Throws: `CancellationError` if the caller has left.
    func wait(within limit: Duration, until isMet: () throws -> Bool) throws -> Bool {
        // The time that the machine is asleep does not count, since the holder of a lock cannot proceed either.
        let end = SuspendingClock.now + limit
        var pause: useconds_t = 500
        while try !isMet() {
            try check()
            guard SuspendingClock.now < end else { return false }
            usleep(pause)
            pause = min(2 * pause, 10_000)
        }
        return true
    }
}
