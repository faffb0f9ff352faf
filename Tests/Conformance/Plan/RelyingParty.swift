import AppAuth
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import ScriptedBrowser

/// The relying party of a plan, at the provider of a module.
struct RelyingParty: Sendable {
    let plan: Plan
    let provider: LocalProvider
    private(set) var environment: Environment
    let browser: ScriptedBrowser
    /// It differs from the client's name at the provider.
    private static let appName = "Relying Party"
    /// Where the provider is spoken to by TLS.
    let certificates: Certificates?

    /// The browser's request was not the response: the library would wait on.
    struct NoResponse: Error {}

    init(_ plan: Plan, _ provider: LocalProvider, _ key: SigningKey, _ certificates: Certificates?) throws {
        let transport = certificates.map { $0.transport(showing: $0.client) } ?? CurlTransport()
        var environment = Environment(transport: transport)
        let clientKey = try ClientKey(pem: key.pem)
        environment.clientKey = { _ in clientKey }
        (self.plan, self.provider, self.environment, self.certificates) = (plan, provider, environment, certificates)
        browser = ScriptedBrowser(
            transport: certificates?.transport(showing: nil) ?? transport,
            entries: ["username": "alice", "password": "looking-glass"])
    }

    /// The same in another environment.
    func with(_ edit: (inout Environment) -> Void) -> RelyingParty {
        var party = self
        edit(&party.environment)
        return party
    }

    func metadata() async throws -> ProviderMetadata {
        if let fault = plan.metadata { provider.fault(fault, at: .openIDConfiguration) }
        return try await Discovery(environment: environment).metadata(for: Issuer(provider.issuer))
    }

    /// - Parameter edit: Changes the metadata of a client that registers itself.
    func client(_ edit: (inout ClientMetadata) -> Void = { _ in }) async throws -> Client {
        let provider = try await metadata()
        guard plan.profile == .dynamic else {
            return Client(
                id: Plan.clientID, authentication: plan.authentication, provider: provider, dpop: plan.dpop,
                bindsTokensToCertificate: plan.bindsTokensToCertificate)
        }
        var metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "Conformance")
        metadata.tokenEndpointAuthMethod = "client_secret_basic"
        edit(&metadata)
        return try await ClientRegistrationRequest(provider: provider, metadata: metadata).send(in: environment)
            .client(at: provider)
    }

    /// A session by the library's own flow, ``SignIn``, with alice at the browser.
    ///
    /// - Parameter client: nil for the plan's own, whose provider the flow discovers by itself.
    func signIn(
        _ client: Client? = nil, scope: [Scope] = [.openID, .profile, .email, .offlineAccess],
        _ edit: (inout AuthorizationRequest.Options) -> Void = { _ in }
    ) async throws -> AuthState {
        var signIn = try await flow(client)
        signIn.scope = scope
        edit(&signIn.options)
        return try await browse { [signIn] browser in
            var signIn = signIn
            signIn.browser = browser
            return try await signIn.run(store: MemoryTokenStore())
        }
    }

    private func flow(_ client: Client?) async throws -> SignIn {
        // A client that registers itself has asked for the metadata before.
        var known = client
        if known == nil, plan.profile == .dynamic { known = try await self.client() }
        var signIn = try SignIn(
            issuer: Issuer(provider.issuer), clientID: known?.id ?? Plan.clientID, appName: Self.appName,
            environment: environment)
        signIn.options = plan.options
        signIn.authentication = known?.authentication ?? plan.authentication
        (signIn.dpop, signIn.bindsTokensToCertificate) = (plan.dpop, plan.bindsTokensToCertificate)
        if let known {
            (signIn.provider, signIn.registration) = (known.provider, known.registration)
        } else if let fault = plan.metadata {
            provider.fault(fault, at: .openIDConfiguration)
        }
        return signIn
    }

    /// Ends the session by the library's own flow, ``SignOut``, with alice at the browser.
    func signOut(_ state: AuthState) async throws -> SignOut.Report {
        try await browse { browser in
            var signOut = SignOut(appName: Self.appName)
            signOut.browser = browser
            return try await signOut.run(state)
        }
    }

    /// Runs a flow of the library's with alice at the browser. If the browser's journey ends elsewhere than at the app, the
    /// flow is cancelled: it would go on waiting.
    ///
    /// - Throws: The errors of the flow; ``NoResponse`` if the browser brought no response to it.
    private func browse<Value: Sendable>(
        _ flow: @escaping @Sendable (Browser) async throws -> Value
    ) async throws -> Value {
        let (urls, opened) = AsyncStream.makeStream(of: String.self)
        let running = Task {
            defer { opened.finish() }
            return try await flow(Browser { opened.yield($0) })
        }
        var lost: any Error = NoResponse()
        for await url in urls {
            do {
                // The last page is the app's own, which tells how it went.
                if try await visit(url).contains(Self.appName) { continue }
            } catch { lost = error }
            running.cancel()
        }
        do { return try await running.value } catch is CancellationError { throw lost }
    }

    /// Opens a URL that leads back to a listener. If no redirect leads back, the test does not wait for one.
    func travel(to url: String, backTo listener: LoopbackRedirectListener) async throws {
        defer { listener.close() }
        _ = try await visit(url)
    }

    /// Returns the last page. Of one with an error status, which ends the journey too, it is the error.
    private func visit(_ url: String) async throws -> String {
        do { return try await browser.visit(url) } catch let error as AuthError where error.httpStatus != nil {
            return error.message
        }
    }

    /// Uses the session's tokens where the plan does: at the userinfo endpoint, or at a resource.
    ///
    /// - Throws: The errors of the library, or ``Status`` for a response that is no success.
    func use(_ state: AuthState) async throws {
        guard plan.destination == .api else {
            _ = try await state.userInfo()
            return
        }
        let url = try SecureURL(provider.url(.api))
        let request = HTTPRequest(
            method: .get, scheme: url.scheme, authority: url.authority, path: url.pathAndQuery)
        let response = try await state.send(TransportRequest(request))
        guard response.status == .ok else { throw Status(response.status) }
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
