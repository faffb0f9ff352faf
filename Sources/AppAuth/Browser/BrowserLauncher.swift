internal import AppAuthConcurrency
package import AppAuthProtocol

/// A launcher that starts the first of several commands that does not fail.
struct BrowserLauncher: Sendable {
    let commands: [BrowserCommand]
    /// How long a command may take to fail before the caller goes on. xdg-open without a desktop takes 60 ms.
    var patience = Duration.milliseconds(500)
    /// How long a command that has not failed by then may still do so. The desktop's openers wait for services of the desktop,
    /// up to 25 s each. A program that fails later was a browser.
    var lastPatience = Duration.seconds(60)

    /// Starts a command.
    ///
    /// - Parameter watch: Learns if the command fails later. The next one is then started.
    /// - Returns: nil if a command was started, or else the commands that were tried and the reasons why they failed.
    func launch(_ url: String, _ watch: BrowserWatch) async -> String? {
        await launch(url, watch, commands[...], [])
    }

    private func launch(
        _ url: String, _ watch: BrowserWatch, _ commands: ArraySlice<BrowserCommand>, _ earlier: [String]
    ) async -> String? {
        var (rest, failures) = (commands, earlier)
        while let command = rest.popFirst() {
            let (others, before, begin) = (rest, failures, ContinuousClock.now)
            let failure = await DetachedProcess.start(
                command.arguments(for: url), variables: command.environment, patience: patience
            ) { failure in
                guard !watch.isOver, .now - begin < lastPatience else { return }
                let failures = before + ["\(command.name) (\(failure))"]
                if !others.isEmpty { watch.report(.success(.openerFailed("\(command.name) (\(failure))"))) }
                Task {
                    guard let failure = await launch(url, watch, others, failures) else { return }
                    watch.report(.failure(AuthError(.browser, .browser, failure, outcome: .notSent)))
                }
            }
            guard let failure else { return nil }
            failures.append("\(command.name) (\(failure))")
        }
        return failures.isEmpty ? "there is no program to start" : "tried " + failures.joined(separator: ", ")
    }
}

/// The caller's interest in a browser that was started, until the browser has come back.
package final class BrowserWatch: Sendable {
    private let state = LockedValue(false)
    private let learn: @Sendable (Result<BrowserObstacle, AuthError>) -> Void

    /// - Parameter learn: Learns that an opener has failed after it was started: the obstacle if another one is tried in its
    ///   place, and the error if there is none, or if all have failed.
    package init(_ learn: @escaping @Sendable (Result<BrowserObstacle, AuthError>) -> Void) { self.learn = learn }

    var isOver: Bool { state.withLock { $0 } }

    /// No other opener is started from now on.
    package func end() { state.withLock { $0 = true } }

    func report(_ result: Result<BrowserObstacle, AuthError>) { if !isOver { learn(result) } }
}
