internal import AppAuth
internal import AppAuthConcurrency

/// The time that is left, as the status line of a command that waits for the user. It changes each second.
final class Countdown: Sendable {
    private struct State: Sendable {
        var isOver = false
        var ticking: Task<Void, Never>?
    }

    private let end: ContinuousClock.Instant
    private let state = LockedValue(State())

    /// - Parameter limit: The time that is left now.
    init(_ limit: Duration) { end = .now + limit }

    /// Shows the line, if standard error is a terminal that this process may write to.
    func start() {
        guard Console.hasStatusLine else { return }
        let ticking = Task {
            while !Task.isCancelled, draw() { try? await Task.sleep(for: .seconds(1)) }
        }
        state.withLock { $0.ticking = ticking }
    }

    /// Clears the line for good.
    func stop() {
        let ticking = state.withLock { state in
            if !state.isOver { Console.show(status: "") }
            state.isOver = true
            return state.ticking
        }
        ticking?.cancel()
    }

    private func draw() -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            Console.show(status: "Waiting: \(left) minutes left, Ctrl-C ends it. ")
            return true
        }
    }

    /// Minutes and seconds, rounded up, so that it begins with the whole time and ends with zero.
    var left: String {
        let seconds = max(0, Int64(ContinuousClock.now.duration(to: end).seconds.rounded(.up)))
        let rest = seconds % 60
        return "\(seconds / 60):\(rest < 10 ? "0" : "")\(rest)"
    }
}
