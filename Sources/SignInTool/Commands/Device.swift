internal import AppAuth
internal import ArgumentParser

/// The command `sign-in device`.
struct Device: Command {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Signs in with a code that you enter on another device, and stores the session.",
        discussion: "Example: sign-in device --issuer https://accounts.example.org --client-id my-app --profile work")

    @Option(parsing: .unconditional, help: "The provider's issuer URL.")
    var issuer: String
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id.")
    var clientID: String
    @OptionGroup var client: ClientOptions
    @Option(parsing: .unconditional, help: Login.scopeHelp)
    var scope: String?
    @OptionGroup var session: NewSessionOptions
    @Flag(help: "Bind the tokens to a DPoP key of the session (RFC 9449).")
    var dpop = false
    @OptionGroup var common: CommonOptions

    var defaultTimeout: Duration { .seconds(300) }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        let registered = try RegisteredClients.find(issuer: issuer, clientID: clientID)
        let (secret, authentication) = try client.credentials(of: registered)
        var signIn = try DeviceSignIn(
            issuer: Issuer(issuer), clientID: clientID, clientSecret: secret,
            scope: scope.map([Scope].init(spaceDelimited:)), environment: console.environment)
        signIn.dpop = dpop ? .es256 : nil
        signIn.authentication = authentication
        signIn.registration = registered?.registration
        let store = try session.store(issuer: issuer, clientID: clientID).within(limit)
        let state = try await signIn.run(store: store, console, until: deadline)
        session.note(store, console)
        let record = await state.record
        try console.succeed(.object(record.summary), text: Login.text(record, nil))
        await state.finishRevoking(before: deadline)
        return 0
    }
}
