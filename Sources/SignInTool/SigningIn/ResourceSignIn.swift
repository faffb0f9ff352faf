internal import AppAuth
internal import ArgumentParser
internal import FoundationEssentials

/// The option for a published client.
struct ClientDocumentOptions: ParsableArguments, Sendable {
    @Option(
        name: .customLong("client-document"), parsing: .unconditional,
        help: """
            The URL of your client ID metadata document. It is the client id at a provider that accepts such \
            documents, instead of a registration. 'sign-in register' prints one with the redirect URI of each issuer.
            """)
    var url: String?

    func validate() throws {
        if let url, (try? ClientMetadata(nativeAppWith: []).document(at: url)) == nil {
            throw ValidationError("--client-document: expected an https URL with a path")
        }
    }
}

/// The options of a sign-in whose provider and client follow from the resource (RFC 9728).
struct ResourceOptions: Sendable {
    let resource: [String]
    let document: String?

    init(_ usual: UsualOptions, _ document: ClientDocumentOptions? = nil) {
        (resource, self.document) = (usual.resource, document?.url)
    }

    /// Whether the resource says where to sign in: the options name a resource, but no client.
    ///
    /// - Parameter grant: The grant of the sign-in. With the authorization code, a client that the user has registered at
    ///   the named issuer counts as named. With an assertion, the resource is asked in any case.
    func decide(_ provider: ProviderOptions, clientID: String?, for grant: GrantType) throws -> Bool {
        guard !resource.isEmpty, provider.preset == nil, provider.tokenEndpoint == nil, provider.metadataURL == nil
        else { return false }
        guard let issuer = try provider.issuer.map({ try Issuer($0) }) else { return true }
        guard clientID == nil || grant == .jwtBearer else { return false }
        return document != nil || grant != .authorizationCode
            || !RegisteredClients.mayHaveAny(at: issuer.string)
    }

    func check() throws {
        if document != nil, resource.isEmpty { throw ValidationError("--client-document needs --resource") }
    }
}

/// A sign-in at the authorization server that a resource names.
struct ResourceSignIn {
    let resource: ProtectedResource
    private(set) var provider: ProviderMetadata
    let scope: [Scope]
    /// Whether the scope `openid`, which the resource demands, brings no ID token that could be verified.
    let ignoresIDTokens: Bool
    /// The endpoints that the user must know of before the sign-in.
    private let endpoints: [ProviderMetadata.Endpoint]
    /// The endpoints without which the sign-in would fail.
    private let required: [ProviderMetadata.Endpoint]

    /// The client of the sign-in.
    struct ChosenClient {
        let id: String
        var registered: RegisteredClient?
        /// Whether the redirect URI must be the one of this issuer, since no user has chosen the client for it.
        let isAutomatic: Bool
        /// Whether it has been registered just now.
        var isNew = false
    }

    /// Asks the resource where to sign in.
    ///
    /// - Parameters:
    ///   - issuer: The user's choice, if the resource has several authorization servers.
    ///   - scope: The scopes that the user names; nil for those of the resource.
    ///   - options: The options of the authorization request.
    ///   - grant: The grant of the sign-in.
    init(
        _ resources: [String], issuer: String?, scope: String?, options: AuthorizationRequest.Options,
        for grant: GrantType, _ console: Console
    ) async throws {
        guard let url = resources.first, resources.count == 1 else {
            throw WrongUsage("--resource: without --issuer and --client-id, expected one resource")
        }
        let discovery = Discovery(environment: console.environment)
        resource = try await discovery.protectedResource(
            at: url, initializing: true, or: issuer.map { try Issuer($0) })
        guard issuer != nil || resource.authorizationServers.count < 2 else {
            throw await resource.choice(for: grant, console)
        }
        var provider = try await discovery.metadata(for: resource, choosing: issuer.map { try Issuer($0) })
        // The issuer of a profile only chooses the server: only in the command line of this call, it is the agreement.
        if SignInLine(console.arguments).value(of: "--issuer") == nil { provider.resource = resource.asked }
        if grant == .deviceCode {
            provider = try await discovery.complete(provider, with: .deviceAuthorization)
            endpoints = DeviceAuthorizationRequest.endpoints
        } else {
            // The audience of an assertion is the issuer: it is of no use elsewhere.
            endpoints =
                grant == .jwtBearer || options.showsIssuer(of: provider) ? [] : AuthorizationRequest.endpoints
        }
        provider = await discovery.complete(provider, with: [.authorization, .token, .keys])
        self.provider = provider
        // The assertion stands for a refresh token.
        let standard = grant == .jwtBearer ? resource.scope : resource.scope(at: provider)
        self.scope = scope.map([Scope].init(spaceDelimited:)) ?? standard
        ignoresIDTokens = scope == nil && self.scope.contains(.openID) && !provider.names(.keys)
        let page: [ProviderMetadata.Endpoint] =
            grant == .jwtBearer ? [] : [grant == .deviceCode ? .deviceAuthorization : .authorization]
        required =
            page + [.token]
            + (self.scope.contains(.openID) && !ignoresIDTokens ? [.keys] : [])
        console.say("\(url.shownURL) is protected by \(provider.issuer).")
    }

    /// Returns the client: the one that the user names, or the document's if the provider accepts documents, or the one
    /// that an earlier sign-in has registered for this resource, or else a new one.
    ///
    /// - Parameters:
    ///   - redirect: The options for the redirect URI; nil if there will be no redirect.
    ///   - grant: The grant of the sign-in.
    ///   - former: A registered client that can no longer be used.
    mutating func client(
        _ id: String?, document: String?, redirect: RedirectOptions?, for grant: GrantType,
        replacing former: RegisteredClient?, _ console: Console
    ) async throws -> ChosenClient {
        for endpoint in required { _ = try provider.require(endpoint) }
        let issuer = provider.issuer.string
        if let id {
            let known = try RegisteredClients.find(issuer: issuer, clientID: id, for: [resource.url.string])
            return ChosenClient(id: id, registered: known, isAutomatic: known?.isOurs == true)
        }
        if let document {
            if provider.supportsClientIDMetadataDocuments { return ChosenClient(id: document, isAutomatic: true) }
            console.say("The provider accepts no client ID metadata document: a registered client is used instead.")
        }
        let uris = redirect?.uris(onlyOf: provider.issuer)
        let known = try RegisteredClients.all(at: issuer).first { suits($0, uris, grant) && $0.path != former?.path }
        if let known { return ChosenClient(id: known.client.id, registered: known, isAutomatic: true) }
        let new = try await register(uris, for: grant, console)
        if let former, former.path != new.path { try? await RegisteredClients.remove(former) }
        return ChosenClient(id: new.client.id, registered: new, isAutomatic: true, isNew: true)
    }

    private mutating func register(
        _ redirectURIs: [String]?, for grant: GrantType, _ console: Console
    ) async throws -> RegisteredClient {
        // Some providers have the endpoint only in the document of RFC 8414.
        var provider = try await Discovery(environment: console.environment).complete(provider, with: .registration)
        guard provider.names(.registration) else {
            throw AuthError(
                .invalidMetadata, .registration,
                "the provider \(provider.issuer) has no 'registration_endpoint' in its metadata. Register a client there, "
                    + "and pass its --client-id", outcome: .notSent)
        }
        for endpoint in required + [.registration] { _ = try provider.require(endpoint) }
        // Once, before anything is left at the provider: for the registration and for the sign-in.
        let used = (endpoints + [.registration]).compactMap { provider[$0] }
        provider = try await console.asking(by: console.line, scope: scope, dpop: resource.requiresDPoP) {
            [provider] in try provider.confirmed($0, for: used)
        }
        self.provider = provider
        // Despite RFC 8252 §7.3, some servers compare the port too: the client keeps one that is free now.
        let uris = try redirectURIs ?? [LoopbackRedirectListener.freeRedirectURI(path: provider.issuer.redirectPath())]
        // With what a later step-up may need, so that the client stays the same.
        let listed = (resource.document["scopes_supported"]?.strings ?? []).flatMap { [Scope](received: $0) }
        do {
            return try await provider.register(
                uris, scope: scope.adding(listed), for: resource.url.string, grant: grant, console)
        } catch var error as AuthError where error.refusesRedirect && grant == .authorizationCode {
            let register = [
                "sign-in", "register", "--issuer", provider.issuer.string, "--redirect-uri",
                "http://localhost:8765/callback",
            ]
            let line = console.line.agreeing(to: provider.issuer.string, scope: scope, dpop: resource.requiresDPoP)
            error.message +=
                ". Some servers accept only such a redirect URI as that of the next line. With it, you agree to sign in "
                + "wherever \(provider.issuer) leads you, and it gets access to what you have there: "
                + "\((register + console.wordsOfNetwork).shellLine). Then sign in with: \(line.shellLine)"
            throw error
        }
    }

    /// Whether a registered client is this resource's, may ask for these scopes in this way, and has a valid secret.
    ///
    /// A client is for one resource. Otherwise, a resource could get tokens with the consent that the user gave another.
    private func suits(_ known: RegisteredClient, _ redirectURIs: [String]?, _ grant: GrantType) -> Bool {
        guard known.resource == resource.url.string, let uri = known.redirectURI,
            provider.issuer.owns(redirectURI: uri), let registration = known.client.registration,
            registration.clientSecretExpiresAt.map({ $0 > .now }) ?? true
        else { return false }
        let metadata = registration.metadata
        return (metadata.grantTypes ?? [.authorizationCode]).contains(grant)
            && scope.allSatisfy { metadata.scope?.contains($0) ?? true }
            && (redirectURIs ?? []).allSatisfy { (try? registration.check(redirectURI: $0)) != nil }
    }
}

extension AuthError {
    /// Whether the server registers no client with this redirect URI. A firewall in front of it may refuse any request that
    /// contains `127.0.0.1`.
    fileprivate var refusesRedirect: Bool {
        guard stage == .registration else { return false }
        return code == .invalidRedirectURI || httpStatus == 403 && server == nil
            || server?.errorDescription?.lowercased().contains("redirect") == true
    }
}

extension ProtectedResource {
    /// How many servers are shown.
    private static let most = 5

    /// Returns the error that the user must choose one of the servers: for each, where it leads the user, and the command
    /// line that signs in there.
    fileprivate func choice(for grant: GrantType, _ console: Console) async -> WrongUsage {
        let servers = authorizationServers.prefix(Self.most)
        let choices = await withTaskGroup(of: (Int, WrongUsage.Choice).self) { group in
            for (index, server) in servers.enumerated() {
                group.addTask { (index, await choice(of: server, for: grant, console)) }
            }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        let rest = authorizationServers.count - servers.count
        return WrongUsage(
            "\(url) has several authorization servers. With --issuer, you agree to sign in wherever that server leads "
                + "you, and it gets access to what you have there. Choose one",
            choosing: choices + (rest > 0 ? [.init(words: "one of \(rest) others")] : []))
    }

    private func choice(of server: Issuer, for grant: GrantType, _ console: Console) async -> WrongUsage.Choice {
        let endpoints =
            (grant == .deviceCode ? DeviceAuthorizationRequest.endpoints : AuthorizationRequest.endpoints)
            + [.registration]
        // Only for the message, which must not wait for a server that does not respond.
        let provider = try? await withTimeout(.seconds(5), .discovery, "no metadata") {
            let discovery = Discovery(environment: console.environment)
            let provider = try await discovery.metadata(for: self, choosing: server)
            return await discovery.complete(provider, with: endpoints)
        }
        let used = SignInConfirmation(
            resource: url, issuer: server.url, endpoints: endpoints.compactMap { provider?[$0] })
        let hosts =
            provider == nil ? ", whose metadata could not be fetched" : used.hostsElsewhere.map { ", which uses \($0)" }
        let line = console.line.agreeing(
            to: server.string, scope: provider.map(scope(at:)) ?? scope, dpop: requiresDPoP)
        return .init(
            meaning: server.url.shownHost + (hosts ?? ""),
            words: line.shellLine)
    }
}

extension Discovery {
    /// Returns the metadata with these endpoints. Some providers list them only in the document of RFC 8414.
    fileprivate func complete(
        _ provider: ProviderMetadata, with endpoints: [ProviderMetadata.Endpoint]
    ) async -> ProviderMetadata {
        var provider = provider
        for endpoint in endpoints { provider = (try? await complete(provider, with: endpoint)) ?? provider }
        return provider
    }
}

extension ProviderMetadata {
    /// Registers `sign-in` as a client, and keeps the client.
    ///
    /// - Parameters:
    ///   - redirectURIs: Its redirect URIs.
    ///   - scope: The scopes that it may request; empty for those that the provider chooses.
    ///   - resource: The resource for which a sign-in registers it by itself; nil if the user has agreed to it.
    ///   - grant: The grant of the sign-in.
    func register(
        _ redirectURIs: [String], scope: [Scope], for resource: String?, grant: GrantType = .authorizationCode,
        _ console: Console
    ) async throws -> RegisteredClient {
        var metadata = ClientMetadata(nativeAppWith: redirectURIs, name: "sign-in")
        metadata.tokenEndpointAuthMethod = authMethodOfNewClient
        if self[.deviceAuthorization] != nil { metadata.grantTypes?.append(.deviceCode) }
        if grant == .jwtBearer { metadata.grantTypes?.append(grant) }
        metadata.scope = scope.isEmpty ? nil : scope
        try RegisteredClients.requireOwner()
        let request = try ClientRegistrationRequest(provider: self, metadata: metadata)
        let registration = try await request.send(in: console.environment)
        for uri in redirectURIs { try registration.check(redirectURI: uri) }
        let client = try registration.client(at: self)
        let path = try await RegisteredClients.keep(
            registration, at: self, keyNamed: nil, redirectURI: redirectURIs.first, for: resource, console)
        let isThere = request.endpoint.origin == issuer.url.origin
        console.say(
            "Registered \(isThere ? "there" : "at \(request.endpoint.shownHost)") as \(registration.clientID.shownName)."
        )
        return RegisteredClient(client: client, redirectURI: redirectURIs.first, resource: resource, path: path ?? "")
    }

    /// The first of these methods that the token endpoint lists: none, a secret in the form, a secret in the header.
    var authMethodOfNewClient: String {
        guard let listed = tokenEndpointAuthMethods else { return "none" }
        return ["none", "client_secret_post", "client_secret_basic"].first(where: listed.contains) ?? "none"
    }
}

extension LoopbackRedirectListener {
    /// Returns a redirect URI to register. Its port is free, and below those that the kernel gives to any program that asks
    /// for none: it must be free at each later sign-in, too.
    static func freeRedirectURI(path: String) throws -> String {
        let lower = (0..<100).map { _ in UInt16.random(in: 16_384..<RedirectOptions.firstPortOfKernel) }
        let listener = try LoopbackRedirectListener(ports: lower + [0], path: path)
        defer { listener.close() }
        return listener.redirectURI
    }
}
