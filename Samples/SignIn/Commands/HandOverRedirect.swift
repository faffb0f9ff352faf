internal import AppAuth
internal import ArgumentParser

/// `sign-in hand-over-redirect`: what the desktop starts when the browser comes to a private-use scheme.
struct HandOverRedirect: Command {
    static let configuration = CommandConfiguration(
        commandName: "hand-over-redirect", abstract: "Hands a redirect to the sign-in that waits for it.",
        shouldDisplay: false)

    @Argument(help: "The redirect.") var url: String
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        try PrivateUseRedirect.handOver(url)
        return 0
    }
}
