internal import AppAuth
internal import AppAuthConcurrency

/// A note that is printed once if the browser has not come back after a while. The provider shows an error only on its
/// page, not to the program.
final class WaitingNote: Sendable {
    private let delay: Duration
    private let waiting = LockedValue<Task<Void, Never>?>(nil)
    private let obstacles = LockedValue<[BrowserObstacle]>([])

    /// - Parameter limit: The time limit of the whole command.
    init(within limit: Duration) { delay = min(.seconds(20), limit / 10) }

    func start(_ console: Console, _ say: @escaping @Sendable () -> Void) {
        let task = Task { [self] in
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            say()
            sayObstacles(console)
        }
        waiting.withLock { $0 = task }
    }

    /// Tells the user of an obstacle: now, or in the note if it matters only to someone who waits.
    func tell(_ obstacle: BrowserObstacle, _ console: Console) {
        // Those of a connection may come from any program or page: they matter only if the redirect does not come.
        guard [.userRefused, .httpsRequested, .certificateRefused, .otherAddress].contains(obstacle.kind) else {
            return console.sayOnce("\(obstacle.message.asSentence).")
        }
        console.log("redirect: \(obstacle.message)")
        obstacles.withLock { $0.append(obstacle) }
    }

    func sayObstacles(_ console: Console) {
        for obstacle in obstacles.withLock({ $0 }) { console.say("\(obstacle.message.asSentence).") }
    }

    func stop() { waiting.withLock { $0 }?.cancel() }
}
