import AppAuth
import AppAuthCore
import HTTPTypes
import JOSE
import LocalProvider
import ScriptedBrowser

/// The relying party of a plan, at the provider of a module.
struct RelyingParty: Sendable {
    let plan: Plan
    let provider: LocalProvider
    private(set) var environment: Environment
    let browser: ScriptedBrowser
    private let transport: CurlTransport

    /// What the browser brought is no answer to the request: the library would go on waiting.
    struct NoAnswer: Error {}

    init(_ plan: Plan, _ provider: LocalProvider, _ key: SigningKey) throws {
        let transport = CurlTransport()
        var environment = Environment(transport: transport)
        let clientKey = try ClientKey(pem: key.pem)
        environment.clientKey = { _ in clientKey }
        (self.plan, self.provider, self.environment, self.transport) = (plan, provider, environment, transport)
        browser = ScriptedBrowser(
            transport: transport, entries: ["username": "alice", "password": "looking-glass"])
    }

    /// The same in another environment.
    func with(_ edit: (inout Environment) -> Void) -> RelyingParty {
        var party = self
        edit(&party.environment)
        return party
    }

    func metadata() async throws -> ProviderMetadata {
        if let fault = plan.metadata { provider.fault(fault, at: .openIDConfiguration) }
        return try await Discovery(environment: environment).metadata(for: provider.issuer)
    }

    /// - Parameter edit: Changes what a client that registers itself says.
    func client(_ edit: (inout ClientMetadata) -> Void = { _ in }) async throws -> Client {
        let provider = try await metadata()
        guard plan.profile == .dynamic else {
            let isBound = [.fapi2, .fapi2Signed].contains(plan.profile)
            return Client(
                id: Plan.clientID, authentication: plan.authentication, provider: provider,
                dpop: isBound ? .es256 : nil)
        }
        var metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "Conformance")
        metadata.tokenEndpointAuthMethod = "client_secret_basic"
        edit(&metadata)
        return try await ClientRegistrationRequest(provider: provider, metadata: metadata).send(in: environment)
            .client(at: provider)
    }

    /// Goes through the provider's pages as alice.
    func authorize(
        _ client: Client, scope: [Scope] = [.openID, .profile, .email, .offlineAccess],
        _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) async throws -> AuthorizationResponse {
        var options = plan.options
        edit(&options)
        let listener = try LoopbackRedirectListener(responseMode: options.responseMode ?? .query)
        defer { listener.close() }
        let request = try await AuthorizationRequest(
            client: client, redirectURI: listener.redirectURI, scope: scope, options: options
        ).prepared(in: environment)
        async let journey: Void = travel(to: request.url, backTo: listener)
        let result = try await listener.redirect { query -> Result<AuthorizationResponse, any Error>? in
            Result { if let response = try request.response(fromQuery: query) { response } else { throw NoAnswer() } }
        }
        await listener.finish(with: .signedIn(appName: "Conformance"))
        try await journey
        return try result.get()
    }

    /// Where the journey ends without a way back, nobody waits for one.
    func travel(to url: String, backTo listener: LoopbackRedirectListener) async throws {
        defer { listener.close() }
        try await browser.visit(url)
    }

    /// A session by a whole sign-in over the wire.
    func signIn(_ client: Client? = nil) async throws -> AuthState {
        let known = if let client { client } else { try await self.client() }
        let response = try await authorize(known)
        return try await AuthState(exchanging: response, store: MemoryTokenStore(), environment: environment)
    }

    /// Uses the session's tokens where the plan does: at the userinfo endpoint, or at a resource.
    ///
    /// - Throws: What the library throws, or ``Status`` for an answer that is no success.
    func use(_ state: AuthState) async throws {
        guard plan.destination == .api else {
            _ = try await state.userInfo()
            return
        }
        let url = try SecureURL(provider.url(.api))
        let request = HTTPRequest(
            method: .get, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
        let answer = try await state.send(HTTPExchange(request))
        guard answer.response.status == .ok else { throw Status(answer.response.status) }
    }

    struct Status: Error {
        let code: Int

        init(_ status: HTTPResponse.Status) { code = status.code }
    }

    /// Where the relying party itself went after the browser had come back, in order; a request that is made again for a
    /// nonce counts once.
    var calls: [Endpoint] {
        let before: Set<Endpoint> = [
            .webFinger, .openIDConfiguration, .keys, .authorization, .interaction, .pushedAuthorization,
            .clientRegistration,
        ]
        return provider.log.map(\.endpoint).filter { !before.contains($0) }.reduce(into: []) { calls, endpoint in
            if calls.last != endpoint { calls.append(endpoint) }
        }
    }
}
