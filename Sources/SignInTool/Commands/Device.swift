internal import AppAuth
internal import ArgumentParser

/// The command `sign-in device`.
struct Device: Command {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Signs in with a code that you enter on another device, and stores the session.",
        discussion: "Example: sign-in device --issuer https://accounts.example.org --client-id my-app --profile work")

    @OptionGroup var provider: ProviderOptions
    @Option(name: .customLong("client-id"), parsing: .unconditional, help: "The client id.")
    var clientID: String?
    @OptionGroup var client: ClientOptions
    @Option(parsing: .unconditional, help: Login.scopeHelp)
    var scope: String?
    @OptionGroup var target: ResourceOptions
    @OptionGroup var session: NewSessionOptions
    @Flag(help: "Bind the tokens to a DPoP key of the session (RFC 9449).")
    var dpop = false
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    var defaultTimeout: Duration { .seconds(300) }

    func validate() throws {
        if try target.decide(provider, clientID: clientID, for: .deviceCode) {
            return try client.requireIssuer(provider.issuer)
        }
        try provider.requireProvider()
        if clientID == nil { throw ValidationError("Missing expected argument '--client-id <client-id>'") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        return try await SignInTarget.signIn(session, console) { former in
            try await SignInTarget(
                provider, clientID, client, target, scope: scope, dpop: dpop, redirect: nil, for: .deviceCode,
                replacing: former, console)
        } _: { chosen in
            try await signIn(at: chosen, console, within: limit, until: deadline)
        }
    }

    private func signIn(
        at chosen: SignInTarget, _ console: Console, within limit: Duration, until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        let store = try session.store(issuer: chosen.issuer, clientID: chosen.configuration.clientID).within(limit)
        try await session.requireRoom(in: store, for: target.resource, clientID: clientID)
        let former = try await session.former(in: store, at: chosen.issuer)
        var signIn = DeviceSignIn(chosen.configuration)
        signIn.resources = target.resource
        signIn.confirm = { [session] in try session.requireUser(of: former, in: await $0.record) }
        let state = try await signIn.run(store: store, console, until: deadline, line: console.line)
        let record = await state.record
        session.note(record, in: store, console)
        try console.succeed(.object(record.summary), text: Login.text(record, session.profile))
        await state.finishRevoking(before: deadline)
        return 0
    }
}
