internal import AppAuth
internal import AppAuthConcurrency

/// The output of the demo: a line for each step, and a spinner on a terminal while it waits.
final class Story: Sendable {
    private let isSilent: Bool
    private let waiting = LockedValue<Task<Void, Never>?>(nil)

    init(isSilent: Bool) { self.isSilent = isSilent }

    func tell(_ line: String, details: [String] = []) {
        stopWaiting()
        guard !isSilent else { return }
        Console.write("• \(line.onOneLine)\n", to: .output)
        for detail in details { Console.write("    \(detail.onOneLine)\n", to: .output) }
    }

    /// Shows a spinner on standard error, if that is a terminal, until the next line is printed.
    func wait(_ what: String) {
        stopWaiting()
        guard !isSilent, Console.isTerminal(.error) else { return }
        let task = Task {
            let start = ContinuousClock.now
            while !Task.isCancelled {
                for sign in Style.spinner where !Task.isCancelled {
                    let seconds = start.duration(to: .now).components.seconds
                    Console.write("\r\(sign) \(what) (\(seconds) s, Ctrl-C ends it) ", to: .error)
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
            Console.write("\r\u{1B}[K", to: .error)
        }
        waiting.withLock { $0 = task }
    }

    private func stopWaiting() {
        let task = waiting.withLock { waiting in
            defer { waiting = nil }
            return waiting
        }
        guard let task else { return }
        task.cancel()
        Console.write("\r\u{1B}[K", to: .error)
    }
}
