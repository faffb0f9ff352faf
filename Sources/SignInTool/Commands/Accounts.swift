internal import AppAuth
internal import ArgumentParser

/// The command `sign-in accounts`.
struct Accounts: Command {
    static let configuration = CommandConfiguration(
        commandName: "accounts", abstract: "Lists the profiles, in a line each. * marks the one in use.",
        discussion: """
            Example: sign-in accounts

            'sign-in status' also lists the sessions that have no profile, and says more about each.
            """)

    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let (listed, unreadable) = try await Status.parse([]).list(console, limit)
        let accounts = listed.filter { $0.profile != nil }
        var result: JSON.Object = ["accounts": .array(accounts.map(\.account))]
        let unreadableAccounts = unreadable.filter { $0["profile"] != nil }
        if !unreadableAccounts.isEmpty { result["unreadable"] = .array(unreadableAccounts) }
        let lines = accounts.map { ($0.isInUse ? "* " : "  ") + $0.title.onOneLine }
        try console.succeed(
            .object(result), text: lines.isEmpty ? "There is no profile." : lines.joined(separator: "\n"))
        return 0
    }
}

extension ListedSession {
    /// The members of `sign-in status` that say whose account it is. A profile without a session is signed out.
    fileprivate var account: JSON {
        let all = json
        let names = ["profile", "user", "sub", "issuer", "client_id", "in_use", "state"]
        var account = JSON.Object(names.map { ($0, all[$0] ?? .null) })
        if record == nil { account["state"] = "signed_out" }
        account["signed_in"] = .bool(isSignedIn)
        return .object(account)
    }
}
