internal import AppAuth
internal import ArgumentParser

/// The command `sign-in userinfo`.
struct UserInfo: Command {
    static let configuration = CommandConfiguration(
        commandName: "userinfo", abstract: "Prints the user’s claims from the userinfo endpoint.",
        discussion: "Example: sign-in userinfo --profile work")

    @OptionGroup var session: SessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let claims = try await session.withState(console, within: limit) { try await $0.userInfo().json }
        try console.succeed(claims, text: claims.lines.joined(separator: "\n"))
        return 0
    }
}
