internal import AppAuth

/// Where a command signs in, and as which client: as the options say, or as the resource says.
struct SignInTarget {
    private(set) var configuration: ClientConfiguration
    /// The redirect URIs that the provider knows; nil if they are not known here.
    let redirectURIs: [String]?
    /// The options of the authorization request that the provider needs.
    let options: AuthorizationRequest.Options
    var issuer: String { configuration.issuer.string }

    init(
        _ provider: ProviderOptions, _ clientID: String?, _ client: ClientOptions, _ target: ResourceOptions,
        scope: String?, dpop: Bool, redirectURIs: [String]?, for grant: GrantType, _ console: Console
    ) async throws {
        var requiresDPoP = dpop
        let registered: Client?
        if try target.decide(provider, clientID: clientID, for: grant) {
            let found = try await ResourceSignIn(target, issuer: provider.issuer, scope: scope, console)
            let chosen = try await found.client(
                clientID, document: target.document, redirectURIs: redirectURIs, for: grant, console)
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
        self.redirectURIs = registered?.registration?.metadata.redirectURIs
    }

    /// Creates the target of another sign-in for a stored session, with these scopes.
    init(of record: AuthStateRecord, scope: [Scope], _ environment: Environment) {
        let environment = environment.speaking(to: record.client.provider) ?? environment
        configuration = ClientConfiguration(record.client, environment: environment)
        options = record.client.provider.preset?.preset.options ?? .init()
        redirectURIs = record.client.registration?.metadata.redirectURIs ?? record.redirectURI.map { [$0] }
        configuration.scope = scope
    }
}

extension AuthStateRecord {
    /// Throws if this session must not take the place of another one: it is another user's, or has no refresh token any
    /// more.
    func requireContinuation(of former: AuthStateRecord) throws {
        try requireUser(of: former)
        guard former.refreshToken == nil || refreshToken != nil else {
            throw AuthError(
                .sessionReplaced, .store,
                "the new session would have no refresh token. The stored session stays as it was", outcome: .notSent)
        }
    }

    /// Throws if both sessions say whose they are, and that is not the same user.
    func requireUser(of former: AuthStateRecord) throws {
        guard let user = former.idToken, let found = idToken, !found.subject.isExactly(user.subject) else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "another user has signed in: \(userDescription), not \(former.userDescription). The stored session stays as "
                + "it was", outcome: .notSent)
    }

    /// What a provider knows the user by, for `login_hint`.
    var loginHint: String? { idToken.flatMap { $0.claims.preferredUsername ?? $0.claims.email } }
}
