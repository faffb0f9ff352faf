internal import AppAuth
internal import ArgumentParser

/// The command `sign-in use`.
struct Use: Command {
    static let configuration = CommandConfiguration(
        commandName: "use", abstract: "Chooses the profile for commands that name no session.",
        discussion: "Example: sign-in use work")

    @Argument(help: "The profile.", completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
    @Flag(help: "Choose no profile.")
    var none = false
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if (profile == nil) != none { throw ValidationError("expected the name of a profile, or --none") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        try profile?.checkIsKnown()
        try Profile.use(profile)
        let name = profile?.name
        if let other = variable(Profile.variableInUse), other != name {
            console.say("The variable \(Profile.variableInUse) takes precedence here: it names \(other).")
        }
        try console.succeed(
            ["profile": name.map(JSON.string) ?? .null], text: name.map { "In use: \($0)" } ?? "No profile is in use.")
        return 0
    }
}
