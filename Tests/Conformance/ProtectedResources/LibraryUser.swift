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
    private let environment = Environment(transport: CurlTransport(.init(proxy: .none)))

    init(_ url: String, as known: SmallClient.Credentials?) { (self.url, self.known) = (url, known) }

    /// Signs in and calls the resource.
    ///
    /// - Returns: The status of each call.
    func use(_ calls: Int) async throws -> [Int] {
        let discovery = Discovery(environment: environment)
        let resource = try await discovery.protectedResource(at: url)
        let provider = try await discovery.metadata(for: resource)
        var signIn = SignIn(
            ClientConfiguration(try await client(at: provider), environment: environment), appName: "My App")
        signIn.scope = resource.scope(at: provider)
        signIn.redirect.path = provider.issuer.redirectPath()
        signIn.options.resources = [resource.url.string]
        if resource.requiresDPoP { signIn.dpop = .es256 }
        var state = try await run(signIn)
        var statuses: [Int] = []
        for _ in 0..<calls {
            var response = try await state.send(TransportRequest(.get, url))
            let record = await state.record
            if let challenge = response.stepUpChallenge, record.isOwnResource(try SecureURL(url)),
                !challenge.scope.allSatisfy(record.scope.contains)
            {
                signIn.options.meet(challenge)
                signIn.scope = (signIn.scope ?? []) + challenge.scope
                state = try await run(signIn)
                response = try await state.send(TransportRequest(.get, url))
            }
            statuses.append(response.status.code)
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

    private func run(_ signIn: SignIn) async throws -> AuthState {
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
