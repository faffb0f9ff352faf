internal import AppAuth
internal import AppAuthLegacy
internal import ArgumentParser

/// The command `sign-in password`.
struct Password: Command {
    static let configuration = CommandConfiguration(
        abstract: "Signs in with a name and a password, where a server has nothing better, and stores the session.")

    @Option(parsing: .unconditional, help: "The provider's issuer URL.")
    var issuer: String
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id.")
    var clientID: String
    @OptionGroup var client: ClientOptions
    @Option(parsing: .unconditional, help: "The person's name at the provider.")
    var username: String
    @Option(
        name: .customLong("password-file"), parsing: .unconditional, help: "A file that holds the person's password.")
    var passwordFile: String
    @Option(parsing: .unconditional, help: "What to ask for, separated by spaces.")
    var scope = "openid profile offline_access"
    @Option(
        parsing: .unconditional, help: "Where to store the session: file:PATH, keyring or memory.",
        transform: StoreChoice.init(_:))
    var store: StoreChoice?
    @OptionGroup var common: CommonOptions

    func validate() throws {
        if clientID.isEmpty { throw ValidationError("--client-id: expected a client id, found nothing") }
        if username.isEmpty { throw ValidationError("--username: expected a name, found nothing") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let grant = try TokenGrant.resourceOwnerPassword(
            username: username, password: SecretFile.read(passwordFile), scope: [Scope](spaceDelimited: scope))
        let provider = try await Discovery(environment: console.environment).metadata(for: Issuer(issuer))
        let store = try StateFolder.store(self.store, issuer: issuer, clientID: clientID).within(limit)
        let state = try await AuthState.present(
            grant, as: client.client(clientID, at: provider), store: store,
            environment: console.environment)
        StateFolder.note(store, console)
        // Only after success: a command that fails prints one line.
        console.note(
            "warning: a program that takes a password can do with it whatever it likes: RFC 9700 §2.4 forbids this grant; "
                + "'sign-in login' uses the browser")
        let record = await state.record
        try console.succeed(.object(record.summary), text: Login.text(record, nil))
        return 0
    }
}
