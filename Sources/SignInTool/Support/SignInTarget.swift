internal import AppAuth

/// Where a command signs in, and as which client: as the options say, or as the resource says.
struct SignInTarget {
    private(set) var configuration: ClientConfiguration
    let registered: Client?
    /// The options of the authorization request that the provider needs.
    let options: AuthorizationRequest.Options
    var issuer: String { configuration.issuer.string }

    init(
        _ provider: ProviderOptions, _ clientID: String?, _ client: ClientOptions, _ target: ResourceOptions,
        scope: String?, dpop: Bool, redirectURIs: [String]?, _ console: Console
    ) async throws {
        var requiresDPoP = dpop
        if try target.decide(provider, clientID: clientID) {
            let found = try await ResourceSignIn(target, issuer: provider.issuer, scope: scope, console)
            let chosen = try await found.client(
                clientID, document: target.document, redirectURIs: redirectURIs, console)
            var configuration = try client.configuration(
                chosen.id, at: ProviderPreset(issuer: found.provider.issuer), of: chosen.registered,
                in: console.environment)
            (configuration.provider, configuration.scope) = (found.provider, found.scope)
            if found.resource.requiresDPoP { requiresDPoP = true }
            (self.configuration, registered, options) = (configuration, chosen.registered, .init())
        } else {
            let preset = try provider.provider()
            registered = try RegisteredClients.find(issuer: preset.issuer.string, clientID: clientID)
            configuration = try client.configuration(
                clientID ?? registered?.id ?? "", at: preset, of: registered, in: console.environment)
            options = preset.options
            if let scope { configuration.scope = [Scope](spaceDelimited: scope) }
        }
        configuration.dpop = requiresDPoP ? .es256 : nil
    }

    /// Creates the target of another sign-in for a stored session, with these scopes.
    init(of record: AuthStateRecord, scope: [Scope], _ environment: Environment) {
        let environment = environment.speaking(to: record.client.provider) ?? environment
        (configuration, registered) = (ClientConfiguration(record.client, environment: environment), record.client)
        options = .init()
        configuration.scope = scope
    }
}
