internal import AppAuth
internal import ArgumentParser

/// The command `sign-in device`.
struct Device: Command {
    static let configuration = CommandConfiguration(
        commandName: "device",
        abstract: "Signs in with a code that you enter on another device, and stores the session.",
        discussion: "Example: sign-in device --issuer https://accounts.example.org --client-id my-app --profile work")

    @OptionGroup(title: OptionTitle.usual) var usual: UsualOptions
    @OptionGroup(title: OptionTitle.usual) var session: NewSessionOptions
    @OptionGroup(title: OptionTitle.usual) var output: OutputOptions
    @OptionGroup(title: OptionTitle.provider) var endpoints: EndpointOptions
    @OptionGroup(title: OptionTitle.client) var client: ClientOptions
    @OptionGroup(title: OptionTitle.client) var document: ClientDocumentOptions
    @OptionGroup(title: OptionTitle.client) var trust: TrustOptions
    @OptionGroup(title: OptionTitle.request) var binding: BindingOptions
    @OptionGroup(title: OptionTitle.network) var common: CommonOptions

    var json: Bool { output.json }
    var defaultTimeout: Duration { .seconds(300) }
    private var provider: ProviderOptions { ProviderOptions(usual, endpoints) }
    private var target: ResourceOptions { ResourceOptions(usual, document) }

    func validate() throws {
        try target.check()
        try provider.check()
    }

    /// Throws if the options do not say where to sign in, or as which client.
    private func requireTarget() throws {
        if try target.decide(provider, clientID: usual.clientID, for: .deviceCode) {
            return try client.requireIssuer(usual.issuer)
        }
        guard provider.isNamed else { throw session.profile?.needsIssuer ?? ProviderOptions.missing }
        if usual.clientID == nil { throw WrongUsage("expected --client-id") }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        try requireTarget()
        return try await SignInTarget.signIn(session, clientID: usual.clientID, within: limit, console) { former in
            try await SignInTarget(
                provider, usual.clientID, client, target, scope: usual.scope, binding: binding, redirect: nil,
                for: .deviceCode, replacing: former, console
            ).trusting(trust)
        } _: { chosen, store, replaceable in
            try await signIn(at: chosen, store, if: replaceable, console, until: deadline)
        }
    }

    private func signIn(
        at chosen: SignInTarget, _ store: any TokenStore, if replaceable: Replaceable, _ console: Console,
        until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        let former = try await session.former(in: store, at: chosen.issuer)
        var signIn = DeviceSignIn(chosen.configuration)
        signIn.resources = chosen.resources
        signIn.replaceable = replaceable
        signIn.confirm = { [session] in try session.confirm(await $0.record, replacing: former, console) }
        let state = try await signIn.run(store: store, console, until: deadline, line: console.line)
        return try await session.finish(state, in: store, console, until: deadline)
    }
}
