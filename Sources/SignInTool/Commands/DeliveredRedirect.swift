internal import AppAuth
internal import ArgumentParser

/// The command `sign-in deliver-redirect`, which the desktop runs when the browser opens a private-use scheme.
struct DeliveredRedirect: Command {
    static let configuration = CommandConfiguration(
        commandName: PrivateUseRedirect.deliveringCommand,
        abstract: "Delivers a redirect to the sign-in that waits for it.",
        shouldDisplay: false)

    @Argument(help: "The redirect.") var url: String
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        try PrivateUseRedirect.deliver(url)
        return 0
    }
}
