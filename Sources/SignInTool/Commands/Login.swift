internal import AppAuth
internal import AppAuthConcurrency
internal import ArgumentParser
internal import FoundationEssentials
internal import JOSE

/// The usual options that only `sign-in login` has.
struct LoginOptions: ParsableArguments, Sendable {
    @Flag(name: .customLong("no-browser"), help: "Show the URL instead of starting a browser.")
    var noBrowser = false
    @Flag(help: "Also fetch the claims of the userinfo endpoint.")
    var userinfo = false
}

/// The option for a sign-in that needs no browser.
struct SourceOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("from"), parsing: .unconditional,
        help: """
            Sign in for the resource without a browser: your identity provider, at which this profile is signed in, vouches \
            for you there. The new session lasts as long as that of the profile.
            """, completion: Profile.completion, transform: Profile.init(_:))
    var profile: Profile?
}

/// The option for a store that cannot be used.
struct ReplacementOptions: ParsableArguments, Sendable {
    @Flag(
        name: .customLong("replace-store"),
        help: "If the stored session is damaged or cannot be decrypted, set it aside under a new name.")
    var replaceStore = false
}

/// The command `sign-in login`.
struct Login: Command {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Signs in with the browser and stores the session.",
        discussion: "Example: sign-in login --issuer https://accounts.example.org --client-id my-app --profile work")

    @OptionGroup(title: OptionTitle.usual) var usual: UsualOptions
    @OptionGroup(title: OptionTitle.usual) var session: NewSessionOptions
    @OptionGroup(title: OptionTitle.usual) var own: LoginOptions
    @OptionGroup(title: OptionTitle.usual) var output: OutputOptions
    @OptionGroup(title: OptionTitle.provider) var endpoints: EndpointOptions
    @OptionGroup(title: OptionTitle.provider) var source: SourceOptions
    @OptionGroup(title: OptionTitle.client) var client: ClientOptions
    @OptionGroup(title: OptionTitle.client) var document: ClientDocumentOptions
    @OptionGroup(title: OptionTitle.client) var trust: TrustOptions
    @OptionGroup(title: OptionTitle.request) var asked: RequestOptions
    @OptionGroup(title: OptionTitle.request) var binding: BindingOptions
    @OptionGroup(title: OptionTitle.browser) var redirect: RedirectOptions
    @OptionGroup(title: OptionTitle.session) var replacement: ReplacementOptions
    @OptionGroup(title: OptionTitle.network) var common: CommonOptions

    var json: Bool { output.json }
    var defaultTimeout: Duration { .seconds(300) }
    var provider: ProviderOptions { ProviderOptions(usual, endpoints) }
    private var target: ResourceOptions { ResourceOptions(usual, document) }

    private var grant: GrantType { source.profile == nil ? .authorizationCode : .jwtBearer }

    func validate() throws {
        try target.check()
        try provider.check()
        guard source.profile != nil else { return }
        guard usual.resource.count == 1 else { throw ValidationError("--from needs one --resource") }
        if source.profile == session.profile { throw ValidationError("--from and --profile name the same profile") }
        if own.userinfo { throw ValidationError("--from and --userinfo exclude each other") }
    }

    /// What the options leave open.
    enum Missing { case provider, client }

    func missing() throws -> Missing? {
        if try target.decide(provider, clientID: usual.clientID, for: grant) {
            try client.requireIssuer(usual.issuer)
            return nil
        }
        guard provider.isNamed else { return .provider }
        guard usual.clientID == nil, try !RegisteredClients.mayHaveAny(at: provider.provider().issuer.string) else {
            return nil
        }
        return .client
    }

    /// The wrong usage if it stays open.
    func wrongUsage(_ missing: Missing) -> WrongUsage {
        switch missing {
        case .provider: return session.profile?.needsIssuer ?? ProviderOptions.missing
        case .client: return provider.noClient
        }
    }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        guard let missing = try missing() else { return try await signIn(console, within: limit, until: deadline) }
        guard console.canConverse else { throw wrongUsage(missing) }
        let words = try await ask(for: missing, console)
        let line = try Profile.completing(SignInLine(words)) { _ in Self.helpMessage(includeHidden: true).wordsOfHelp }
        guard let completed = try? Self.parse(Array(line.words.dropFirst())), try completed.missing() == nil
        else { throw wrongUsage(missing) }
        let status = try await completed.signIn(console.with(words, line), within: limit, until: deadline)
        console.say("To sign in like this without questions: \(SignInLine(words).shellLine)")
        return status
    }

    /// Asks the user. After that, nothing reads the terminal until the sign-in does.
    private func ask(for missing: Missing, _ console: Console) async throws -> [String] {
        var questions = SignInQuestions(of: self, console)
        return try await questions.answers(to: missing)
    }

    private func signIn(
        _ console: Console, within limit: Duration, until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        // The user of now: until the resource has answered, the profile may become another's.
        let user = try await source.profile?.user(console.environment)
        return try await SignInTarget.signIn(session, clientID: usual.clientID, within: limit, console) { former in
            try await SignInTarget(
                provider, usual.clientID, client, target, scope: usual.scope, binding: binding,
                redirect: source.profile == nil ? redirect : nil,
                asked: asked.options(over: .init()).withTypedParameters(), for: grant, replacing: former, console
            ).trusting(trust)
        } _: { chosen, store, replaceable in
            if let source = source.profile, let user {
                return try await signIn(
                    from: source, user, at: chosen, store, if: replaceable, console, until: deadline)
            }
            return try await signIn(at: chosen, store, if: replaceable, console, until: deadline)
        }
    }

    private func signIn(
        at chosen: SignInTarget, _ store: any TokenStore, if replaceable: Replaceable, _ console: Console,
        until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        let former: AuthStateRecord?
        do { former = try await session.former(in: store, at: chosen.issuer) } catch let error as AuthError {
            guard replacement.replaceStore, [.damaged, .encryption].contains(error.storeProblem) else { throw error }
            former = nil
        }
        let claims = LockedValue<JSON?>(nil)
        var signIn = signIn(chosen, as: former)
        signIn.replaceable = replaceable
        signIn.confirm = { [session, own] state in
            if own.userinfo {
                let response = try await state.userInfo().json
                claims.withLock { $0 = response }
            }
            // Last: the server has decided how long this takes.
            try session.confirm(await state.record, replacing: former, console)
        }
        try await chosen.checkClient(of: signIn, console)
        if replacement.replaceStore { _ = try await StateFolder.discard(store, console) }
        // A code for another device carries no further parameters.
        let deviceLine = asked.options(over: .init()) == .init() ? deviceLine(chosen).withItsOwnProfile : nil
        let state = try await signIn.run(
            store: store, console, until: deadline, line: console.line, deviceLine: deviceLine)
        return try await session.finish(state, in: store, userinfo: claims.withLock { $0 }, console, until: deadline)
    }

    /// Signs in with what the provider of another session says about its user.
    private func signIn(
        from source: Profile, _ user: AssertionDemand.User, at chosen: SignInTarget, _ store: any TokenStore,
        if replaceable: Replaceable, _ console: Console, until deadline: ContinuousClock.Instant
    ) async throws -> Int32 {
        let former = try await session.former(in: store, at: chosen.issuer)
        // Whichever server the resource names by now.
        do { try await store.load()?.requireSource(user) } catch var error as AuthError {
            let words = session.profile.map { ["--profile", $0.name] } ?? ["--store", store.shownLocation]
            error.message += ". To replace it, sign out of it first: \(SignInLine(["logout"] + words).shellLine)"
            throw error
        }
        let scope = chosen.configuration.scope ?? []
        // The resource demands them, and only the identity provider's policy stands between.
        if !scope.isEmpty {
            console.say(
                "No page will ask whether you allow: \(scope.map(\.rawValue.shownName).joined(separator: ", ")).")
        }
        let grant = try TokenGrant.jwtBearer(
            assertionNamed: source.assertionName, about: user, scope: scope, resources: chosen.resources)
        let state = try await AuthState.present(
            grant, as: chosen.configuration.client(), store: store, if: replaceable, environment: console.environment
        ) { try session.confirm(await $0.record, replacing: former, console) }
        let status = try await session.finish(state, in: store, console, until: deadline)
        // Only these are looked through when the user signs out of the profile.
        let known = try StateFolder.storesWithProfiles().map(\.store.location)
        if store is FileTokenStore, !known.contains(store.location) {
            let logout = SignInLine(["logout", "--store", store.shownLocation]).shellLine
            console.say("A sign-out of \(source.name) does not end this session. To end it: \(logout)")
        }
        return status
    }

    private func signIn(_ chosen: SignInTarget, as former: AuthStateRecord?) -> SignIn {
        var signIn = SignIn(chosen.configuration, appName: "sign-in")
        var preset = chosen.options
        preset.loginHint = former?.loginHint
        signIn.options = asked.options(over: preset)
        signIn.options.resources = chosen.resources
        signIn.options.isPushed = asked.par
        signIn.redirect = chosen.redirect
        signIn.requiredEndpoints = own.userinfo ? [.userInfo] : []
        if own.noBrowser { signIn.browser = nil }
        return signIn
    }

    /// Returns the command line of `sign-in device` with the same options.
    private func deviceLine(_ chosen: SignInTarget) -> SignInLine {
        // An issuer that is no agreement here is none in that line either.
        let isChosen = chosen.configuration.provider?.resource == nil
        var words = ["device"] + (isChosen ? provider.words : [])
        // One that was registered for the resource is found there again. In the line, it would pass for the user's choice at
        // whichever server the resource names by then.
        if chosen.registered?.isOurs != true { words += ["--client-id", chosen.configuration.clientID] }
        func add(_ option: String, _ value: String?) { if let value { words += [option, value] } }
        for resource in target.resource { add("--resource", resource) }
        words += client.words + trust.words
        add("--scope", usual.scope)
        add("--profile", session.profile?.name)
        add("--store", session.store?.argument)
        words += common.wordsOfNetwork + binding.words
        if json { words.append("--json") }
        return SignInLine(words)
    }
}
