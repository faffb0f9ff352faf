internal import AppAuth

/// Where a command signs in, and as which client: as the options say, or as the resource says.
struct SignInTarget {
    private(set) var configuration: ClientConfiguration
    /// The client, if `sign-in` has registered it.
    let registered: RegisteredClient?
    /// Whether the client has been registered just now.
    let isNew: Bool
    /// Whether the options name the port of the redirect URI.
    let isPortNamed: Bool
    /// Whether the options name the scope.
    let isScopeNamed: Bool
    /// Whether the scope is what is left of the default one.
    private(set) var isReduced = false
    /// Whether the options name the prompt, or none may be sent.
    private(set) var isPromptNamed = false
    /// Where the browser comes back to.
    let redirect: SignIn.Redirect
    /// The options of the authorization request that the provider needs.
    private(set) var options: AuthorizationRequest.Options
    /// The resources that the token is for, as they name themselves.
    let resources: [String]
    /// The name of the session without a profile.
    let sessionName: SessionName
    var issuer: String { configuration.issuer.string }

    /// - Parameters:
    ///   - redirect: The options for the redirect URI; nil if there will be no redirect.
    ///   - asked: The options of the authorization request.
    ///   - grant: The grant of the sign-in.
    ///   - former: A client that an earlier sign-in has registered for a resource, and that can no longer be used.
    init(
        _ provider: ProviderOptions, _ clientID: String?, _ client: ClientOptions, _ target: ResourceOptions,
        scope: String?, binding: BindingOptions, redirect: RedirectOptions?,
        asked: AuthorizationRequest.Options = .init(),
        for grant: GrantType, replacing former: RegisteredClient? = nil, _ console: Console
    ) async throws {
        var (requiresDPoP, isAutomatic, host) = (binding.dpop, false, LoopbackRedirectListener.Host.ipv4)
        if try former != nil || target.decide(provider, clientID: clientID, for: grant) {
            var found = try await ResourceSignIn(
                target.resource.isEmpty ? [former?.resource].compactMap(\.self) : target.resource,
                issuer: provider.issuer, scope: scope, options: asked,
                for: grant, console)
            let chosen = try await found.client(
                former == nil ? clientID : nil, document: target.document, redirect: redirect, for: grant,
                replacing: former, console)
            var configuration = try await client.configuration(
                chosen.id, at: ProviderPreset(issuer: found.provider.issuer), of: chosen.registered?.client,
                in: console.environment)
            (configuration.provider, configuration.scope) = (found.provider, found.scope)
            configuration.idTokenRules.areIgnored = found.ignoresIDTokens
            if found.resource.requiresDPoP { requiresDPoP = true }
            (self.configuration, registered, options) = (configuration, chosen.registered, .init())
            (isAutomatic, isNew, resources) = (chosen.isAutomatic, chosen.isNew, [found.resource.url.string])
        } else {
            let preset = try provider.provider()
            registered = try RegisteredClients.find(
                issuer: preset.issuer.string, clientID: clientID, for: target.resource)
            configuration = try await client.configuration(
                clientID ?? registered?.client.id ?? "", at: preset, provider.metadataURL, of: registered?.client,
                in: console.environment)
            (options, host) = (preset.options, preset.redirectHost ?? host)
            (isAutomatic, isNew, resources) = (registered?.isOurs == true, false, target.resource)
            if let scope { configuration.scope = [Scope](spaceDelimited: scope) }
        }
        (configuration.dpop, configuration.dpopKeyProvider) = (requiresDPoP ? .es256 : nil, binding.device)
        sessionName = SessionName(
            configuration.issuer, configuration.clientID,
            for: isAutomatic ? registered?.resource ?? resources.first : nil)
        (isPortNamed, isScopeNamed) = (redirect?.namesPort == true, scope != nil)
        isPromptNamed = asked.sets("prompt") || options.sets("prompt")
        self.redirect =
            try redirect?.redirect(
                registered: registered?.redirectURI, onlyOf: isAutomatic ? configuration.issuer : nil, host: host)
            ?? .init()
    }

    /// Returns the target with these further audiences of ID tokens.
    func trusting(_ options: TrustOptions) -> SignInTarget {
        var target = self
        target.configuration.idTokenRules.trustedAudiences = Set(options.audiences)
        return target
    }

    /// Returns the target with other scopes.
    func requesting(_ scope: [Scope], isReduced: Bool) -> SignInTarget {
        var target = self
        (target.configuration.scope, target.isReduced) = (scope, isReduced)
        return target
    }

    /// Returns the target without a `prompt`.
    func withoutPrompt() -> SignInTarget {
        var target = self
        (target.options.prompt, target.isPromptNamed) = ([], true)
        return target
    }

    /// Fetches the provider's metadata again, unless the app has put it together.
    mutating func forgetMetadata() {
        if configuration.provider?.isDiscovered == true { configuration.provider = nil }
    }

    /// Takes over how the client of a stored session authenticates.
    mutating func authenticate(as client: Client) { configuration.authentication = client.authentication }

    /// Creates the target of another sign-in for a stored session, with these scopes, and the certificate of an https redirect
    /// URI.
    init(
        of record: AuthStateRecord, scope: [Scope], _ certificate: LoopbackRedirectListener.Certificate?,
        _ environment: Environment
    ) throws {
        configuration = ClientConfiguration(
            record.client, environment: environment.suiting(record, as: record.profileSignIn) ?? environment)
        options = record.client.provider.preset?.preset.options ?? .init()
        registered = try RegisteredClients.find(
            issuer: record.client.provider.issuer.string, clientID: record.client.id, for: record.resources)
        redirect =
            try (registered?.redirectURI ?? record.redirectURI).map { try .init(registered: $0, certificate) }
            ?? .init()
        (isNew, isPortNamed, isScopeNamed, resources) = (false, false, true, record.resources)
        configuration.scope = scope
        sessionName = registered?.sessionName ?? .client(configuration.issuer, configuration.clientID)
    }
}
