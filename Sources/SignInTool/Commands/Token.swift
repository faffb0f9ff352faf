internal import AppAuth
internal import ArgumentParser

/// The command `sign-in token`.
struct Token: Command {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Prints a valid access token, refreshing it if needed.")

    @Option(
        name: .customLong("min-validity"), parsing: .unconditional, help: "The minimum remaining validity, in seconds.")
    var minimumValidity: UInt32?
    @Flag(name: .customLong("force-refresh"), help: "Refresh the token even if it is still valid.")
    var forceRefresh = false
    @OptionGroup var session: SessionOptions
    @OptionGroup var common: CommonOptions

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let (token, record) = try await session.withState(console, within: limit) { state in
            console.advice.note(await state.record.client.authentication)
            let token = try await state.patientAccessToken(
                minimumValidity: minimumValidity.map { .seconds($0) }, forceRefresh: forceRefresh,
                until: ContinuousClock.now + limit, console)
            return (token, await state.record)
        }
        try console.succeed(Self.result(token, record), text: token.value.reveal())
        return 0
    }

    static func result(_ token: AccessToken, _ record: AuthStateRecord) -> JSON {
        [
            "access_token": .string(token.value.reveal()), "token_type": .string(token.type.rawValue),
            "expires_at": record.expiry, "scope": .string(record.scope.spaceDelimited ?? ""),
        ]
    }
}
