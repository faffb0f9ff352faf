internal import AppAuth
internal import AppAuthConcurrency
internal import ArgumentParser
internal import FoundationEssentials
internal import JOSE
internal import Logging

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
        if clientID == nil, try !RegisteredClients.isAny(at: provider.provider().issuer.string) {
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
        let chosen = try await SignInTarget(
            provider, clientID, client, target, scope: scope, dpop: dpop, redirectURIs: redirect.uris,
            for: .authorizationCode, console)
        let store = try session.store(issuer: chosen.issuer, clientID: chosen.configuration.clientID).within(limit)
        try await session.requireRoom(in: store, for: target.resource, clientID: clientID)
        let former: AuthStateRecord?
        do { former = try await session.former(in: store, at: chosen.issuer) } catch let error as AuthError {
            guard replaceStore else { throw error }
            former = nil
        }
        let (state, userinfo) = try await signIn(chosen, in: store, console, until: deadline, as: former) {
            try session.requireUser(of: former, in: $0)
        }
        let record = await state.record
        session.note(record, in: store, console)
        var result = record.summary
        result["userinfo"] = userinfo
        try console.succeed(.object(result), text: Self.text(record, session.profile, userinfo))
        await state.finishRevoking(before: deadline)
        return 0
    }

    /// Signs in with the browser, or in the way that the user chooses while the browser is awaited.
    ///
    /// - Parameters:
    ///   - former: The session whose user to suggest to the provider; nil for none.
    ///   - check: Throws if the new session must not be stored.
    func signIn(
        _ chosen: SignInTarget, in store: any TokenStore, _ console: Console, until deadline: ContinuousClock.Instant,
        as former: AuthStateRecord?, check: @escaping @Sendable (AuthStateRecord) throws -> Void
    ) async throws -> (state: AuthState, userinfo: JSON?) {
        let limit = ContinuousClock.now.duration(to: deadline)
        let clientID = chosen.configuration.clientID
        var signIn = SignIn(chosen.configuration, appName: "sign-in")
        signIn.pages = CompletionPages(appName: "sign-in", inTerminal: true)
        var preset = chosen.options
        preset.loginHint = former?.loginHint
        signIn.options = asked.options(over: preset)
        signIn.options.resources = target.resource
        signIn.options.isPushed = par
        signIn.redirect = try redirect.redirect(registered: chosen.redirectURIs)
        signIn.requiredEndpoints = userinfo ? [.userInfo] : []
        signIn.browser = noBrowser ? nil : .system
        signIn.timeout = limit
        let ways = WaysWithoutBrowser(
            console: console, canPaste: !asked.usesFormPost, deviceCommand: DeviceCommand(self, clientID).line)
        let waiting = WaitingNote(within: limit)
        let countdown = Countdown(limit)
        defer {
            waiting.stop()
            countdown.stop()
        }
        signIn.observe = { event in
            if case .authorization = event { countdown.start(console) }
            if case .redirected = event { countdown.stop() }
            show(event, ways, waiting, console)
        }
        signIn.pasted = ways.lines
        let claims = LockedValue<JSON?>(nil)
        signIn.confirm = { state in
            try check(await state.record)
            guard userinfo else { return }
            let response = try await state.userInfo().json
            claims.withLock { $0 = response }
        }
        if replaceStore { _ = try await StateFolder.discard(store, console) }
        let state: AuthState
        do { state = try await signIn.run(store: store) } catch is WaysWithoutBrowser.DeviceWanted {
            console.waitForBrowser(false)
            countdown.stop()
            var device = DeviceSignIn(signIn.configuration)
            (device.confirm, device.resources) = (signIn.confirm, target.resource)
            state = try await device.run(store: store, console, until: deadline)
        }
        return (state, claims.withLock { $0 })
    }

    private func show(
        _ event: SignIn.Event, _ ways: WaysWithoutBrowser, _ waiting: WaitingNote, _ console: Console
    ) {
        switch event {
        case .authorization(let url):
            console.say(
                noBrowser
                    ? "Open this URL in a browser to sign in:"
                    : "Sign in with the browser. If none opens, open this URL:")
            console.say("  \(url)")
            console.waitForBrowser()
            console.log("authorization: listening for the redirect and starting the browser")
        case .browserObstacle(let obstacle):
            console.say("\(obstacle.message.asSentence).")
            if obstacle.kind == .sshSession { ways.offerPasting() }
        case .withoutBrowser(let error, let canUseDevice):
            if let error {
                console.say("No browser could be started: \(error.message). Open the URL above in a browser.")
            }
            ways.offerPasting()
            // A code for another device carries no further parameters.
            if canUseDevice, asked.options(over: .init()) == .init() { ways.offerDevice() }
        case .wrongPaste(let error): console.say("That address can't be used: \(error.message).")
        case .foreignRedirect:
            waiting.sayOnce(
                "The browser came back without the state of this sign-in. Still waiting.")
        case .provider(let provider):
            console.log("discovery: the metadata has everything that the sign-in needs")
            if dpop { console.sayIfWithoutDPoP(provider) }
        case .scopesLeftOut(let scopes): console.sayLeftOut(scopes)
        case .requesting(let request):
            console.advice.note(request.client.authentication)
            waiting.start { Self.sayWhatToCompare(request, console) }
        case .redirected:
            waiting.stop()
            console.waitForBrowser(false)
            console.log("redirect: received the response to this request")
        case .signedIn: console.log("store: stored the session")
        }
    }

    private static func sayWhatToCompare(_ request: AuthorizationRequest, _ console: Console) {
        console.say(
            "Still waiting for the browser. If it shows an error, compare this with what is registered at the provider:"
        )
        console.say("  client id: \(request.client.id)")
        console.say("  redirect URI: \(request.redirectURI)")
        console.say("  scope: \(request.scope.spaceDelimited ?? "")")
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

/// The options for the redirect URI.
struct RedirectOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("redirect-port"), parsing: .unconditionalSingleValue,
        help: "A port to listen on. If given several times, the ports are tried in order.")
    var ports: [UInt16] = []
    @Option(
        name: .customLong("redirect-host"), parsing: .unconditional,
        help: "127.0.0.1, [::1], both, localhost (default: 127.0.0.1)")
    var host: LoopbackRedirectListener.Host?
    @Option(
        name: .customLong("redirect-path"), parsing: .unconditional,
        help: "The path of the redirect URI. (default: /callback)")
    var path: String?
    @Option(
        name: .customLong("redirect-uri"), parsing: .unconditional,
        help: "A redirect URI of a private-use scheme, instead of the three options above.")
    var uri: String?

    private var isChosen: Bool { uri != nil || host != nil || path != nil || !ports.isEmpty }

    /// The redirect URIs that the options name, to register them; nil if they name none.
    var uris: [String]? {
        guard isChosen else { return nil }
        if let uri { return [uri] }
        let hosts = host == .both ? ["127.0.0.1", "[::1]"] : [(host ?? .ipv4).defaultValueDescription]
        return hosts.flatMap { host in
            (ports.isEmpty ? [0] : ports).map { port in
                "http://\(host)\(port == 0 ? "" : ":\(port)")\(path ?? "/callback")"
            }
        }
    }

    /// - Parameter uris: The client's registered redirect URIs. Without options, the first loopback URI with a port
    ///   applies, or else the first URI.
    func redirect(registered uris: [String]?) throws -> SignIn.Redirect {
        // The provider may compare ports: a registered port is always right.
        let hasPort = { (uri: String) in
            (try? SecureURL(uri)).map { $0.isLoopback && $0.port != nil } ?? false
        }
        let registered = isChosen ? nil : uris?.first(where: hasPort) ?? uris?.first
        var redirect = SignIn.Redirect()
        if let loopback = registered.flatMap({ try? SecureURL($0) }), loopback.isLoopback,
            let host = LoopbackRedirectListener.Host(argument: loopback.host)
        {
            // The provider compares the whole URI, except perhaps the port.
            guard loopback.endsWithPath else {
                throw WrongUsage(
                    "the registered redirect URI \(loopback.string) has no path, or has a query: register another")
            }
            (redirect.host, redirect.path) = (host, loopback.path)
            redirect.ports = [loopback.port ?? 0]
            return redirect
        }
        if let host { redirect.host = host }
        if let path { redirect.path = path }
        if !ports.isEmpty { redirect.ports = ports }
        redirect.privateUse = try (uri ?? registered).map {
            try PrivateUseRedirect($0, appName: "sign-in", arguments: [DeliveredRedirect._commandName])
        }
        return redirect
    }

    func validate() throws {
        if let path, !RedirectPath.isValid(path) {
            throw ValidationError(
                "--redirect-path: expected a path that begins with /, without query, fragment and dots")
        }
        guard let uri else { return }
        guard let colon = uri.firstIndex(of: ":"), colon > uri.startIndex else {
            throw ValidationError("--redirect-uri: expected a URI such as com.example.app:/callback")
        }
        if !ports.isEmpty || host != nil || path != nil {
            throw ValidationError(
                "--redirect-uri cannot be combined with --redirect-port, --redirect-host and --redirect-path")
        }
    }
}

/// The options for the authorization request, beyond the scope.
struct RequestOptions: ParsableArguments, Sendable {
    @Option(parsing: .unconditional, help: "The prompt parameter, for example login or consent.")
    var prompt: String?
    @Option(name: .customLong("login-hint"), parsing: .unconditional, help: "The user name to suggest to the provider.")
    var loginHint: String?
    @Option(
        name: .customLong("max-age"), parsing: .unconditional,
        help: "Maximum age of the sign-in at the provider, in seconds.")
    var maxAge: UInt32?
    @Option(
        name: .customLong("acr-values"), parsing: .unconditional, help: "Authentication contexts, separated by spaces.")
    var acrValues: String?
    @Option(name: .customLong("ui-locales"), parsing: .unconditional, help: "Languages, separated by spaces.")
    var uiLocales: String?
    @Option(
        name: .customLong("param"), parsing: .unconditionalSingleValue, help: "An additional parameter, as name=value.")
    var parameters: [String] = []

    /// Returns the requested options. They take precedence over those of a preset.
    func options(over preset: AuthorizationRequest.Options) -> AuthorizationRequest.Options {
        func list(_ text: String?) -> [String] { text?.split(separator: " ").map(String.init) ?? [] }
        var options = preset
        if let prompt { options.prompt = list(prompt).map(AuthorizationRequest.Prompt.init(rawValue:)) }
        if pairs.contains(where: { $0.name == "prompt" }) { options.prompt = nil }
        if let loginHint { options.loginHint = loginHint }
        if pairs.contains(where: { $0.name == "login_hint" }) { options.loginHint = nil }
        options.maxAge = maxAge.map(Int.init)
        options.acrValues = list(acrValues)
        options.uiLocales = list(uiLocales)
        options.additionalParameters.removeAll { known in pairs.contains { $0.name == known.name } }
        options.additionalParameters += pairs.map { .init($0.name, $0.value) }
        return options
    }

    /// Whether the browser posts the response, so that the address does not contain it.
    var usesFormPost: Bool { (try? options(over: .init()).withTypedParameters())?.responseMode?.isPosted == true }

    private var pairs: [(name: String, value: String)] {
        parameters.map { text in
            let name = text.prefix { $0 != "=" }
            return (String(name), String(text.dropFirst(name.count + 1)))
        }
    }

    func validate() throws {
        for parameter in parameters where !parameter.contains("=") || parameter.hasPrefix("=") {
            throw ValidationError("--param: expected name=value, found '\(parameter)'")
        }
        let own = [
            prompt.map { _ in "prompt" }, loginHint.map { _ in "login_hint" }, maxAge.map { _ in "max_age" },
            acrValues.map { _ in "acr_values" }, uiLocales.map { _ in "ui_locales" },
        ].compactMap { $0 }
        var seen = Set(own)
        for (name, _) in pairs {
            guard !AuthorizationRequest.Options.reservedParameters.contains(name) else {
                throw ValidationError("--param: '\(name)' is set by sign-in itself")
            }
            guard seen.insert(name).inserted || name == "resource" else {
                throw ValidationError("--param: '\(name)' is given twice")
            }
        }
    }
}
