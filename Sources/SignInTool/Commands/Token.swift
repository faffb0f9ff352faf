internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The command `sign-in token`.
struct Token: Command {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Prints a valid access token, refreshing it if needed.")

    @Option(
        name: .customLong("min-validity"), parsing: .unconditional, help: "The minimum remaining validity, in seconds.")
    var minimumValidity: UInt32?
    @Flag(name: .customLong("force-refresh"), help: "Refresh the token even if it is still valid.")
    var forceRefresh = false
    @Flag(name: .customLong("id-token"), help: "Print a valid ID token instead, for servers that accept one.")
    var isIDToken = false
    @OptionGroup var session: SessionOptions
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let validity = minimumValidity.map { Duration.seconds($0) }
        let (result, token) = try await session.withState(console, within: limit) { state in
            console.advice.note(await state.record.client.authentication)
            let deadline = ContinuousClock.now + limit
            return try await state.patiently(forceRefresh: forceRefresh, until: deadline, console) { isForced in
                guard isIDToken else {
                    let token = try await state.freshAccessToken(minimumValidity: validity, forceRefresh: isForced)
                    return (Self.result(token, await state.record), token.value)
                }
                // A refresh brings a new ID token too.
                if isForced { _ = try await state.freshAccessToken(forceRefresh: true) }
                let token = try await state.freshIDToken(minimumValidity: validity ?? .seconds(60))
                return (Self.result(token), token.rawValue)
            }
        }
        try console.succeed(result, text: token.reveal())
        return 0
    }

    private static func result(_ token: IDToken) -> JSON {
        ["id_token": .string(token.rawValue.reveal()), "expires_at": .string(token.expiration.ISO8601Format())]
    }

    static func result(_ token: AccessToken, _ record: AuthStateRecord) -> JSON {
        [
            "access_token": .string(token.value.reveal()), "token_type": .string(token.type.rawValue),
            "expires_at": record.expiry, "scope": .string(record.scope.spaceDelimited ?? ""),
        ]
    }
}
