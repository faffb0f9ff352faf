/// A launcher that starts the first of several commands that does not fail at once.
struct BrowserLauncher: Sendable {
    let commands: [BrowserCommand]
    /// How long a command may take to fail. xdg-open without a desktop takes 60 ms. A browser that was started directly
    /// runs for hours and is not observed beyond this limit.
    var patience = Duration.milliseconds(500)

    /// - Returns: nil if a command was started, or else the commands that were tried and the reasons why they failed.
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
        return failures.isEmpty ? "there is no program to start" : "tried " + failures.joined(separator: ", ")
    }
}
