internal import AppAuth
internal import ArgumentParser

/// The command `sign-in doctor`.
struct Doctor: Command {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Finds out what would keep a sign-in from working. It changes nothing.",
        discussion: """
            Example: sign-in doctor --issuer https://accounts.example.org --client-id my-app

            With the options of a sign-in, or the profile or session of one, it checks that sign-in too. It sends the client’s \
            secret only to that provider. The exit status is 1 if something will not work.
            """)

    @OptionGroup(title: OptionTitle.usual) var usual: UsualOptions
    @OptionGroup(title: OptionTitle.usual) var session: NewSessionOptions
    @OptionGroup(title: OptionTitle.usual) var output: OutputOptions
    @OptionGroup(title: OptionTitle.provider) var endpoints: EndpointOptions
    @OptionGroup(title: OptionTitle.client) var client: ClientOptions
    @OptionGroup(title: OptionTitle.request) var asked: RequestOptions
    @OptionGroup(title: OptionTitle.request) var binding: BindingOptions
    @OptionGroup(title: OptionTitle.browser) var redirect: RedirectOptions
    @OptionGroup(title: OptionTitle.network) var common: CommonOptions

    var json: Bool { output.json }
    var defaultTimeout: Duration { .seconds(60) }
    private var provider: ProviderOptions { ProviderOptions(usual, endpoints) }

    func validate() throws { try provider.check() }

    func run(_ console: Console, limit: Duration) async throws -> Int32 {
        // If the name of a profile is misspelled, there is nothing to check.
        if let profile = session.profile, !provider.isNamed { try profile.checkIsKnown() }
        var examination = Examination()
        try await examination.checkLibraries()
        var target: SignInTarget?
        let isIssuer = provider.issuer.map { (try? Issuer($0)) != nil } ?? true
        let otherwise = isIssuer ? Finding.Name.clientConfiguration : .issuerInvalid
        let areUsable = try await examination.check("options", otherwise: otherwise) { _ in
            target = try await namedTarget(console)
            return target.map { "a sign-in at \("\($0.issuer)".shownURL)" } ?? "no provider"
        }
        let (store, record) = areUsable ? try await checkStore(target, &examination, limit) : (nil, nil)
        if let record { target = try completed(target, record, console) }
        // A session of a device, a password or another session has no redirect, and a sign-in like it needs no browser.
        var uri: String?
        if record.map({ $0.redirectURI != nil }) ?? true {
            try await examination.checkBrowser()
            uri = try await examination.checkRedirect(redirect(of: target), console.environment)
        }
        if let target {
            try await examination.checkKey(
                record?.proofKey, in: target.configuration.dpopKeyProvider, console.environment)
            try await check(target, redirectURI: uri, &examination)
        }
        if let record { try await check(record, in: store, &examination, console) }
        return try finish(examination, console)
    }

    /// Returns the sign-in that the options name; nil if they name no provider, or if a resource would have to be asked.
    private func namedTarget(_ console: Console) async throws -> SignInTarget? {
        let resources = ResourceOptions(usual)
        guard provider.isNamed,
            try !resources.decide(provider, clientID: usual.clientID, for: .authorizationCode)
        else { return nil }
        return try await SignInTarget(
            provider, usual.clientID, client, resources, scope: usual.scope, binding: binding, redirect: redirect,
            asked: asked.options(over: .init()).withTypedParameters(), for: .authorizationCode, console)
    }

    /// The options that select the session if they name no provider.
    private var sessionOptions: SessionOptions {
        var options = SessionOptions()
        (options.profile, options.issuer) = (session.profile, usual.issuer)
        (options.clientID, options.store) = (usual.clientID, session.store)
        return options
    }

    /// Checks the place for the session.
    ///
    /// - Returns: The place, and the session that is there.
    private func checkStore(
        _ target: SignInTarget?, _ examination: inout Examination, _ limit: Duration
    ) async throws -> (store: (any TokenStore)?, record: AuthStateRecord?) {
        var store: (any TokenStore)?
        try await examination.check("session", otherwise: .storeUnusable) { examination in
            let seen: String
            do {
                store = try await self.store(of: target, limit)
                seen = store?.shownLocation ?? "none"
            } catch let error as WrongUsage {
                seen = error.message
            } catch let error as AuthError where error.code == .invalidConfiguration {
                examination.add(Finding(.passphraseMissing, error.message))
                return "unknown"
            }
            if store == nil { store = FileTokenStore(path: try StateFolder().path + "/sign-in.json") }
            return seen
        }
        guard let store = store?.within(min(limit, .seconds(10))) else { return (nil, nil) }
        return (store, try await examination.checkStore(store))
    }

    private func store(of target: SignInTarget?, _ limit: Duration) async throws -> (any TokenStore)? {
        guard let target, !target.configuration.clientID.isEmpty || session.profile != nil else {
            return try await sessionOptions.find(within: limit)
        }
        return try session.store(target.sessionName)
    }

    /// Returns the sign-in of a stored session, or the named one with the credentials of the session.
    private func completed(
        _ named: SignInTarget?, _ record: AuthStateRecord, _ console: Console
    ) throws -> SignInTarget {
        guard var target = named else {
            var target = try SignInTarget(
                of: record, scope: record.requestedScope, redirect.certificate, console.environment)
            target.forgetMetadata()
            return target
        }
        // The secret goes to no endpoint but that of the session.
        let isSameEndpoint =
            endpoints.token.map { $0 == record.client.provider[.token]?.string }
            ?? provider.metadataURL.map { $0 == record.client.provider.location } ?? true
        if !client.isGiven, target.registered == nil, isSameEndpoint,
            record.belongs(to: target.configuration.clientID, at: target.configuration.issuer)
        {
            target.authenticate(as: record.client)
        }
        return target
    }

    /// Returns the redirect of the sign-in. The next sign-in need not have the port that the kernel has chosen for the last.
    private func redirect(of target: SignInTarget?) -> SignIn.Redirect {
        var redirect = target?.redirect ?? .init()
        guard let target, target.registered == nil, !target.isPortNamed else { return redirect }
        redirect.ports = redirect.ports.map { RedirectOptions.isChosenByKernel($0) ? 0 : $0 }
        return redirect
    }

    /// - Parameter redirectURI: The redirect URI of a sign-in; nil for one without a browser.
    private func check(_ target: SignInTarget, redirectURI: String?, _ examination: inout Examination) async throws {
        var signIn = SignIn(target.configuration, appName: "sign-in")
        signIn.options = asked.options(over: target.options)
        (signIn.options.resources, signIn.options.isPushed) = (target.resources, asked.par)
        let page: [ProviderMetadata.Endpoint] = redirectURI == nil ? [] : [.authorization]
        guard let client = try await examination.checkProvider(of: signIn, requiring: page + [.token]) else { return }
        try await examination.checkRequest(signIn.configuration, at: client.provider)
        guard let redirectURI, !client.id.isEmpty, client.provider[.authorization] != nil,
            client.provider[.token] != nil
        else { return }
        try await examination.checkClient(client, of: signIn, redirectURI: redirectURI)
    }

    /// Checks the tokens of a stored session.
    private func check(
        _ record: AuthStateRecord, in store: (any TokenStore)?, _ examination: inout Examination, _ console: Console
    ) async throws {
        try await examination.check("tokens", otherwise: .storeUnusable) { examination in
            let line = try? sessionOptions.line(store, record, console).shellLine
            findings(of: record, signInWith: line).forEach { examination.add($0) }
            return "of \(record.userDescription)"
        }
    }

    private func findings(of record: AuthStateRecord, signInWith line: String?) -> [Finding] {
        if let reason = record.reasonToSignIn {
            return [
                Finding(
                    .sessionOver, "the session is over: \(reason)", remedy: line.map { _ in "Sign in with:" },
                    command: line)
            ]
        }
        var findings: [Finding] = []
        if let reason = record.backoff?.reason {
            findings.append(Finding(.refreshFailing, "the last refresh failed: \(reason)"))
        }
        if !record.renewsItself {
            let wasAsked = record.requestedScope.contains(.offlineAccess)
            let seen = "the session has no refresh token, and ends with its access token"
            findings.append(
                Finding(.noRefreshToken, seen + (wasAsked ? "" : ": offline_access was not requested")))
        }
        if let names = record.scopeNotGranted.spaceDelimited {
            findings.append(Finding(.scopeNotGranted, "the provider has not granted these scopes: \(names.foundText)"))
        }
        return findings
    }

    private func finish(_ examination: Examination, _ console: Console) throws -> Int32 {
        let failures = examination.failures
        guard !failures.isEmpty else {
            try console.succeed(.object(examination.json), text: examination.text)
            return 0
        }
        if !json { try console.print(Array((examination.text + "\n").utf8)) }
        let names = failures.map(\.name.rawValue).joined(separator: ", ")
        let isOver = failures.allSatisfy { $0.name == .sessionOver }
        console.fail(
            code: "findings", "\(isOver ? "you have to sign in again" : "a sign-in will not work"): \(names)",
            with: examination.json)
        return 1
    }
}
