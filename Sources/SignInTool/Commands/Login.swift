internal import AppAuth
internal import AppAuthConcurrency
internal import ArgumentParser
internal import FoundationEssentials
internal import JOSE

/// The command `sign-in login`.
struct Login: Command {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Signs in with the browser and stores the session.",
        discussion: "Example: sign-in login --issuer https://accounts.example.org --client-id my-app --profile work")

    @OptionGroup var provider: ProviderOptions
    @Option(
        name: .customLong("client-id"), parsing: .unconditional,
        help: "The client id; not needed after 'sign-in register'.")
    var clientID: String?
    @OptionGroup var client: ClientOptions
    @Option(parsing: .unconditional, help: Login.scopeHelp)
    var scope: String?
    @OptionGroup var redirect: RedirectOptions
    @OptionGroup var target: ResourceOptions
    @OptionGroup var asked: RequestOptions
    @Flag(help: "Also fetch the claims of the userinfo endpoint.")
    var userinfo = false
    @Flag(name: .customLong("no-browser"), help: "Show the URL instead of starting a browser.")
    var noBrowser = false
    @OptionGroup var session: NewSessionOptions
    @Flag(
        name: .customLong("replace-store"),
        help: "If the stored session is damaged or cannot be decrypted, set it aside under a new name.")
    var replaceStore = false
    @Flag(help: "Push the request to the provider; the browser carries only a reference to it (RFC 9126).")
    var par = false
    @Flag(help: "Bind the tokens to a DPoP key of the session (RFC 9449).")
    var dpop = false
    @Flag(help: .json) var json = false
    @OptionGroup var common: CommonOptions

    static var scopeHelp: ArgumentHelp {
        """
        The scopes to request, separated by spaces. \
        (default: openid profile offline_access, as far as the provider lists them)
        """
    }
    var defaultTimeout: Duration { .seconds(300) }

    func validate() throws {
        if clientID?.isEmpty == true { throw ValidationError("--client-id: expected a client id, found nothing") }
        if try target.decide(provider, clientID: clientID, for: .authorizationCode) {
            return try client.requireIssuer(provider.issuer)
        }
        try provider.requireProvider()
        if clientID == nil, try !RegisteredClients.mayHaveAny(at: provider.provider().issuer.string) {
            // Without discovery there is no registration, and the presets' providers offer none.
            let canRegister = provider.preset == nil && provider.tokenEndpoint == nil
            throw ValidationError(
                "Missing expected argument '--client-id <client-id>'"
                    + (canRegister
                        ? ", since no client is registered: see 'sign-in register'"
                        : ": register your app at the provider, which gives it an id"))
        }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        return try await SignInTarget.signIn(session, console) { former in
            try await SignInTarget(
                provider, clientID, client, target, scope: scope, dpop: dpop, redirect: redirect,
                asked: asked.options(over: .init()).withTypedParameters(), for: .authorizationCode, replacing: former,
                console)
        } _: { chosen in
            try await signIn(at: chosen, console, within: limit, until: deadline)
        }
    }

    private func signIn(
        at chosen: SignInTarget, _ console: Console, within limit: Duration, until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        let store = try session.store(issuer: chosen.issuer, clientID: chosen.configuration.clientID).within(limit)
        try await session.requireRoom(in: store, for: target.resource, clientID: clientID)
        let former: AuthStateRecord?
        do { former = try await session.former(in: store, at: chosen.issuer) } catch let error as AuthError {
            guard replaceStore, [.damaged, .encryption].contains(error.storeProblem) else { throw error }
            former = nil
        }
        let claims = LockedValue<JSON?>(nil)
        var signIn = signIn(chosen, as: former)
        signIn.confirm = { [session, userinfo] state in
            try session.requireUser(of: former, in: await state.record)
            guard userinfo else { return }
            let response = try await state.userInfo().json
            claims.withLock { $0 = response }
        }
        try await chosen.checkClient(of: signIn, console)
        if replaceStore { _ = try await StateFolder.discard(store, console) }
        // A code for another device carries no further parameters.
        let deviceLine = asked.options(over: .init()) == .init() ? deviceLine(chosen) : nil
        let state = try await signIn.run(
            store: store, console, until: deadline, line: console.line, deviceLine: deviceLine)
        let userinfo = claims.withLock { $0 }
        let record = await state.record
        session.note(record, in: store, console)
        var result = record.summary
        result["userinfo"] = userinfo
        try console.succeed(.object(result), text: Self.text(record, session.profile, userinfo))
        await state.finishRevoking(before: deadline)
        return 0
    }

    private func signIn(_ chosen: SignInTarget, as former: AuthStateRecord?) -> SignIn {
        var signIn = SignIn(chosen.configuration, appName: "sign-in")
        var preset = chosen.options
        preset.loginHint = former?.loginHint
        signIn.options = asked.options(over: preset)
        signIn.options.resources = target.resource
        signIn.options.isPushed = par
        signIn.redirect = chosen.redirect
        signIn.requiredEndpoints = userinfo ? [.userInfo] : []
        if noBrowser { signIn.browser = nil }
        return signIn
    }

    /// Returns the command line of `sign-in device` with the same options.
    private func deviceLine(_ chosen: SignInTarget) -> SignInLine {
        // An issuer that is no agreement here is none in that line either.
        let isChosen = chosen.configuration.provider?.resource == nil
        var words = ["device"] + (isChosen ? provider.words : []) + ["--client-id", chosen.configuration.clientID]
        func add(_ option: String, _ value: String?) { if let value { words += [option, value] } }
        for resource in target.resource { add("--resource", resource) }
        words += client.words
        add("--scope", scope)
        add("--profile", session.profile?.name)
        add("--store", session.store?.argument)
        words += common.wordsOfNetwork
        if dpop { words.append("--dpop") }
        if json { words.append("--json") }
        return SignInLine(words)
    }

    static func text(_ record: AuthStateRecord, _ profile: Profile?, _ userinfo: JSON? = nil) -> String {
        let name = profile.map { ", with the profile \($0.name)" } ?? ""
        var lines = ["Signed in at \(record.client.provider.issuer) as \(record.userDescription)\(name)."]
        if let date = record.accessToken?.expiresAt {
            lines.append("The access token is valid until \(date.ISO8601Format()).")
        }
        lines.append(
            record.refreshToken == nil ? "There is no refresh token." : "The session is refreshed when needed.")
        if let userinfo { lines += userinfo.lines }
        return lines.map(\.onOneLine).joined(separator: "\n")
    }
}
