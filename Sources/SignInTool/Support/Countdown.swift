internal import AppAuth
internal import AppAuthConcurrency
internal import AppAuthProtocol

/// A line with the time that is left. A terminal shows it anew each second; other outputs get it once.
final class Countdown: Sendable {
    private struct State: Sendable {
        var isOver = false
        var ticking: Task<Void, Never>?
    }

    private let end: ContinuousClock.Instant
    private let isLive = Console.isTerminal(.error)
    private let state = LockedValue(State())

    /// - Parameter limit: The time that is left now.
    init(_ limit: Duration) { end = .now + limit }

    func start() {
        guard isLive else {
            Console.write("Waiting for at most \(left) minutes.\n", to: .error)
            return
        }
        let ticking = Task {
            while !Task.isCancelled, draw() { try? await Task.sleep(for: .seconds(1)) }
        }
        state.withLock { $0.ticking = ticking }
    }

    /// Prints a line above the countdown.
    func say(_ line: String) {
        state.withLock { state in
            if isLive, !state.isOver { Console.write(Self.clear, to: .error) }
            Console.write(line.onOneLine + "\n", to: .error)
        }
        _ = isLive && draw()
    }

    /// Clears the line for good.
    func stop() {
        let ticking = state.withLock { state in
            if isLive, !state.isOver { Console.write(Self.clear, to: .error) }
            state.isOver = true
            return state.ticking
        }
        ticking?.cancel()
    }

    private static let clear = "\r\u{1B}[K"

    private func draw() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            Console.write("\(Self.clear)Waiting: \(left) minutes left, Ctrl-C ends it. ", to: .error)
            return true
        }
    }

    private var left: String {
        // Rounded up, so that it begins with the whole time and ends with zero.
        let seconds = max(0, Int64(ContinuousClock.now.duration(to: end).seconds.rounded(.up)))
        let rest = seconds % 60
        return "\(seconds / 60):\(rest < 10 ? "0" : "")\(rest)"
    }
}
