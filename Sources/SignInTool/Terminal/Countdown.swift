internal import AppAuth
internal import AppAuthConcurrency

/// The time that is left, as the status line of a command that waits for the user, with a spinner.
final class Countdown: Sendable {
    private struct State: Sendable {
        var isOver = false
        var ticking: Task<Void, Never>?
    }

    private let end: ContinuousClock.Instant
    private let state = LockedValue(State())

    /// - Parameter limit: The time that is left now.
    init(_ limit: Duration) { end = .now + limit }

    /// Shows the line, if the console has one.
    func start(_ console: Console) {
        guard console.hasStatusLine else { return }
        let ticking = Task {
            while !Task.isCancelled {
                for sign in Console.isDecorated ? Style.spinner.map({ $0 + " " }) : [""] {
                    guard draw(sign) else { return }
                    // No more often, for terminals that print each line, and for screen readers that speak it.
                    try? await Task.sleep(for: .seconds(1))
                }
            }
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

    private func draw(_ sign: String) -> Bool {
        state.withLock { state in
            guard !state.isOver else { return false }
            Console.show(status: "\(sign)Waiting: \(left) left, Ctrl-C ends it. ")
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
