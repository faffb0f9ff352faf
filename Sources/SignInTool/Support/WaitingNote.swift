internal import AppAuth
internal import JOSE

/// What to say once if the browser has not come back after a while. The provider's page shows what is wrong, and tells
/// no program.
final class WaitingNote: Sendable {
    private let delay: Duration
    private let said = LockedValue<Set<String>>([])
    private let waiting = LockedValue<Task<Void, Never>?>(nil)

    /// - Parameter limit: How long the whole command may take.
    init(within limit: Duration) { delay = min(.seconds(20), limit / 10) }

    func start(_ say: @escaping @Sendable () -> Void) {
        let task = Task { [delay] in
            guard (try? await Task.sleep(for: delay)) != nil else { return }
            say()
        }
        waiting.withLock { $0 = task }
    }

    /// Says something as soon as it happens, and not again.
    func sayOnce(_ line: String) {
        let isFirst = said.withLock { $0.insert(line).inserted }
        if isFirst { Console.write(line + "\n", to: .error) }
    }

    func stop() { waiting.withLock { $0 }?.cancel() }
}
