internal import AppAuth
internal import AppAuthConcurrency

/// A note that is printed once if the browser has not come back after a while. The provider shows an error only on its
/// page, not to the program.
final class WaitingNote: Sendable {
    private let delay: Duration
    private let said = LockedValue<Set<String>>([])
    private let waiting = LockedValue<Task<Void, Never>?>(nil)

    /// - Parameter limit: The time limit of the whole command.
    init(within limit: Duration) { delay = min(.seconds(20), limit / 10) }

    func start(_ say: @escaping @Sendable () -> Void) {
        let task = Task { [delay] in
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            say()
        }
        waiting.withLock { $0 = task }
    }

    /// Prints a line at once, but only the first time.
    func sayOnce(_ line: String) {
        let isFirst = said.withLock { $0.insert(line).inserted }
        if isFirst { Console.write(line + "\n", to: .error) }
    }

    func stop() { waiting.withLock { $0 }?.cancel() }
}
