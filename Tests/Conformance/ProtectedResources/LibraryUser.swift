import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import HTTPTypes
import ScriptedBrowser

/// An app that does what the article on protected resources says.
struct LibraryUser {
    let url: String
    /// A client that the app has.
    let known: SmallClient.Credentials?
    static let environment = Environment(transport: CurlTransport(.init(proxy: .none)))
    private let environment = Self.environment

    init(_ url: String, as known: SmallClient.Credentials?) { (self.url, self.known) = (url, known) }

    /// Signs in and calls the resource.
    ///
    /// - Parameter between: What happens before each call but the first.
    /// - Returns: The status of each call.
    func use(_ calls: Int, between: () -> Void = {}) async throws -> [Int] {
        let discovery = Discovery(environment: environment)
        let resource = try await discovery.protectedResource(at: url)
        let provider = try await discovery.metadata(for: resource)
        var signIn = SignIn(
            ClientConfiguration(try await client(at: provider), environment: environment), appName: "My App")
        signIn.scope = resource.scope(at: provider)
        signIn.redirect.path = provider.issuer.redirectPath()
        signIn.options.resources = [resource.url.string]
        if resource.requiresDPoP { signIn.dpop = .es256 }
        var state = try await Self.run(signIn)
        var statuses: [Int] = []
        for call in 0..<calls {
            if call > 0 { between() }
            var response = try await state.send(TransportRequest(.get, url))
            let record = await state.record
            if let challenge = response.stepUpChallenge, record.isOwnResource(try SecureURL(url)),
                !challenge.scope.allSatisfy(record.scope.contains)
            {
                signIn.options.meet(challenge)
                signIn.scope = (signIn.scope ?? []) + challenge.scope
                state = try await Self.run(signIn)
                response = try await state.send(TransportRequest(.get, url))
            }
            statuses.append(response.status.code)
            guard response.status == .unauthorized else { continue }
            let servers = try await discovery.protectedResource(at: url).authorizationServers
            // The resource has moved: as for a new one.
            if !servers.contains(provider.issuer) { return try await statuses + use(1) }
        }
        return statuses
    }

    private func client(at provider: ProviderMetadata) async throws -> Client {
        if let known, let secret = known.secret {
            return Client(id: known.id, authentication: .secret(Secret(secret), for: provider), provider: provider)
        }
        if let known, provider.supportsClientIDMetadataDocuments { return Client(id: known.id, provider: provider) }
        var metadata = ClientMetadata(
            nativeAppWith: ["http://127.0.0.1\(provider.issuer.redirectPath())"], name: "My App")
        let methods = provider.tokenEndpointAuthMethods ?? ["none"]
        metadata.tokenEndpointAuthMethod = methods.contains("none") ? "none" : methods[0]
        let request = try ClientRegistrationRequest(provider: provider, metadata: metadata)
        return try await request.send(in: environment).client(at: provider)
    }

    /// Begins a session with a grant that needs no browser, at a server that the app knows.
    static func present(
        _ grant: TokenGrant, as id: String, _ authentication: ClientAuthentication, at issuer: String,
        in environment: Environment = environment
    ) async throws -> AuthState {
        let client = try await client(id, authentication, at: issuer)
        return try await AuthState.present(grant, as: client, store: MemoryTokenStore(), environment: environment)
    }

    static func client(
        _ id: String, _ authentication: ClientAuthentication, at issuer: String
    ) async throws -> Client {
        let provider = try await Discovery(environment: environment).metadata(for: Issuer(issuer))
        return Client(id: id, authentication: authentication, provider: provider)
    }

    static func run(_ signIn: SignIn) async throws -> AuthState {
        let transport = CurlTransport(.init(proxy: .none))
        return try await withScriptedBrowser(
            entries: ["username": "alice", "password": "looking-glass"], transport: transport
        ) { [signIn] browser in
            var signIn = signIn
            signIn.browser = browser
            return try await signIn.run(store: MemoryTokenStore())
        }
    }
}
