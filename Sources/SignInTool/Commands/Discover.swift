internal import AppAuth
internal import ArgumentParser

/// The command `sign-in discover`.
struct Discover: Command {
    static let configuration = CommandConfiguration(
        commandName: "discover", abstract: "Checks and prints a provider’s metadata.",
        discussion: "Example: sign-in discover https://accounts.example.org")

    @Argument(help: "The issuer URL.")
    var issuer: String
    @OptionGroup var metadata: MetadataOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let metadata = JSON.object(
            try await Discovery(environment: console.environment).metadata(
                for: Issuer(issuer), at: self.metadata.url
            ).document)
        try console.succeed(metadata, text: metadata.lines.joined(separator: "\n"))
        return 0
    }
}
