internal import AppAuthCore

/// Starts the first of several commands that does not fail at once.
struct BrowserLauncher: Sendable {
    let commands: [BrowserCommand]
    /// How long a command may take to fail. xdg-open without a desktop needs 60 ms for it; a browser that was started
    /// directly runs on for hours, and is not watched any longer than this.
    var patience = Duration.milliseconds(500)

    func launch(_ url: String) async throws {
        var failures: [String] = []
        for command in commands where !command.name.isEmpty {
            guard let failure = await DetachedProcess.start(command.arguments(for: url), patience: patience) else {
                return
            }
            failures.append("\(command.name) (\(failure))")
        }
        let tried = failures.isEmpty ? "no program to start" : failures.joined(separator: ", ")
        throw AuthError(
            .browser, .browser, "expected a browser or a desktop's opener, found \(tried)", outcome: .notSent)
    }
}
