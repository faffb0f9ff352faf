/// Starts the first of several commands that does not fail at once.
struct BrowserLauncher: Sendable {
    let commands: [BrowserCommand]
    /// How long a command may take to fail. xdg-open without a desktop needs 60 ms for it; a browser that was started
    /// directly runs on for hours, and is not watched any longer than this.
    var patience = Duration.milliseconds(500)

    /// - Returns: nil if one was started, else what was tried and why it did not work.
    func launch(_ url: String) async -> String? {
        var failures: [String] = []
        for command in commands where !command.name.isEmpty {
            let arguments = command.arguments(for: url)
            guard
                let failure = await DetachedProcess.start(
                    arguments, variables: command.environment, patience: patience)
            else { return nil }
            failures.append("\(command.name) (\(failure))")
        }
        return failures.isEmpty ? "no program to start" : failures.joined(separator: ", ")
    }
}
