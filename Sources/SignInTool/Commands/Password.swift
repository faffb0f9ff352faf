internal import AppAuth
internal import AppAuthLegacy
internal import ArgumentParser

/// The command `sign-in password`.
struct Password: Command {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Signs in with a user name and a password, for servers without a better grant.",
        discussion: """
            Example: sign-in password --issuer https://accounts.example.org --client-id my-app --username zoe \
            --password-file FILE
            """)

    @Option(parsing: .unconditional, help: "The provider’s issuer URL.")
    var issuer: String
    @OptionGroup var metadata: MetadataOptions
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id.")
    var clientID: String
    @OptionGroup var client: ClientOptions
    @Option(parsing: .unconditional, help: "The user name.")
    var username: String
    @Option(
        name: .customLong("password-file"), parsing: .unconditional, help: "A file with the user’s password.",
        completion: .file())
    var passwordFile: String
    @Option(parsing: .unconditional, help: "The scopes to request, separated by spaces.")
    var scope = "openid profile offline_access"
    @OptionGroup var session: NewSessionOptions
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if clientID.isEmpty { throw ValidationError("--client-id: expected a client id, found nothing") }
        if username.isEmpty { throw ValidationError("--username: expected a name, found nothing") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        let grant = try TokenGrant.resourceOwnerPassword(
            username: username, password: SecretFile.read(passwordFile, of: "--password-file"),
            scope: [Scope](spaceDelimited: scope))
        let known = try await session.replaceable(console)
        let client = try await client.configuration(
            clientID, at: ProviderPreset(issuer: Issuer(issuer)), metadata.url, in: console.environment
        ).client()
        let store = try session.store(.client(Issuer(issuer), clientID)).within(limit)
        let replaceable = if let known { known } else { try await session.replaceable(in: store) }
        let former = try await session.former(in: store, at: issuer)
        let state = try await AuthState.present(
            grant, as: client, store: store, if: replaceable, environment: console.environment
        ) { try session.confirm(await $0.record, replacing: former, console) }
        // Only after success: a command that fails prints one line.
        console.note(
            "warning: this grant shows the password to the program, so RFC 9700 §2.4 forbids it. Use 'sign-in login' "
                + "if you can")
        return try await session.finish(state, in: store, console, until: deadline)
    }
}
