internal import AppAuth
internal import ArgumentParser

/// The command `sign-in watch`.
struct Watch: Command {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Keeps the sessions of profiles alive, and says when you have to sign in again.",
        discussion: """
            Example: sign-in watch --profile work
            It refreshes each token before it expires, and runs until Ctrl-C. In the background: systemctl --user enable \
            --now sign-in-watch
            """)

    @Option(
        name: .customLong("profile"), parsing: .unconditionalSingleValue,
        help: "A profile to watch. (default: all)", completion: Profile.completion, transform: Profile.init(_:))
    var profiles: [Profile] = []
    @Option(
        parsing: .unconditional,
        help: "A shell command to run for each event. It gets the event as JSON on standard input.")
    var exec: String?
    @OptionGroup var common: CommonOptions

    /// The limit is that of each access to a store.
    var endsInTime: Bool { false }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        for profile in profiles { try profile.checkIsKnown() }
        let names = (profiles.isEmpty ? try Profile.all() : profiles).map(\.name).joined(separator: ", ")
        // Not after each rest.
        let greeting =
            names.isEmpty
            ? "No profile is known yet, and a session without one is not watched: sign-in login --profile NAME. "
                + "Watching for the first."
            : "Watching: \(names)"
        if WatchRest.atStart == nil { console.say(greeting) }
        var watcher = Watcher(profiles, telling: WatchNotifier(command: exec, console), console, limit: limit)
        try await watcher.run()
        return 0
    }
}
