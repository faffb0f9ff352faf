public import AppAuthProtocol
public import AppAuthSession
internal import FoundationEssentials
internal import Logging

/// A whole sign-in in one call: discovery, a loopback redirect, the browser, the exchange, and the page that tells the
/// person how it went (RFC 8252 §7.3).
///
/// ```swift
/// let signIn = SignIn(issuer: "https://accounts.example.org", clientID: "my-app", appName: "My App")
/// let state = try await signIn.resume(store: FileTokenStore(path: path))
/// let token = try await state.freshAccessToken()
/// ```
public struct SignIn: Sendable {
    /// The provider's issuer.
    public var issuer: String
    /// The provider's metadata, for a provider without discovery; nil asks the issuer.
    public var provider: ProviderMetadata?
    /// The client id.
    public var clientID: String
    /// How the client authenticates; nil means by its secret, if it has one, as the provider supports it.
    public var authentication: ClientAuthentication?
    /// The secret of a client that has one.
    public var clientSecret: Secret?
    /// With what kind of key the tokens are bound to the session (RFC 9449); nil for bearer tokens.
    public var dpop: DPoPAlgorithm?
    /// Whether tokens are bound to the certificate that the transport shows (RFC 8705 §3).
    public var bindsTokensToCertificate = false
    /// What the provider registered (RFC 7591), for a client that registered itself: it is stored with the session.
    public var registration: ClientRegistration?
    /// What is asked for; nil means `openid`, `profile` and `offline_access`, as far as the provider lists them
    /// (``ProviderMetadata/scopes``).
    public var scope: [Scope]?
    /// What else is asked.
    public var options = AuthorizationRequest.Options()
    /// Endpoints that the app is going to need beyond the flow's own: checked before the browser opens.
    public var requiredEndpoints: [ProviderMetadata.Endpoint] = []
    /// Where the browser comes back to.
    public var redirect = Redirect()
    /// What opens the sign-in; nil opens nothing, and whoever gets ``Event/authorization(url:)`` shows it.
    ///
    /// It gets a URL of this process on loopback that redirects one request to the authorization URL, so that nothing of
    /// the provider's, and no `state`, is in a program's arguments. A browser on another machine needs the authorization
    /// URL itself.
    public var browser: Browser? = .system
    /// What the person pastes: texts, each of which should be the whole redirect URL, for a browser that cannot come back
    /// by itself since it runs on another machine. Asked for once in a run; nil means that nothing can be pasted.
    ///
    /// The browser is waited for at the same time, and whichever brings the response first wins. A text that is not the
    /// answer is told by ``Event/wrongPaste(_:)``, an empty one is passed over, and the wait goes on; so it does when the
    /// texts end. If their source throws, the sign-in ends with its error: the person has chosen another way. The stream
    /// is terminated as soon as nothing more is read. With a response mode that is posted no address holds the answer: do not
    /// offer it then.
    ///
    /// Where nothing can listen, use ``AuthorizationRequest/response(fromPasted:)`` without a `SignIn`.
    public var pasted: (@Sendable () -> AsyncThrowingStream<String, any Error>)?
    /// How long the person may take in the browser, from its start on. Afterwards the sign-in fails with
    /// ``AuthError/Code/timeout``, and its port is free again.
    public var timeout: Duration = .seconds(300)
    /// The app's name, for the page at the end.
    public var appName: String
    /// What the browser shows; nil means the library's own pages, with the app's name.
    public var pages: CompletionPages?
    /// HTTP, clock and log.
    public var environment: Environment { didSet { discovery = Discovery(environment: environment) } }
    /// Keeps the metadata for the next run of this value and its copies.
    private var discovery: Discovery
    /// A last step before the session is stored and the person is told that it worked, for example a first request with
    /// the new token. If it throws, the sign-in has failed.
    public var confirm: @Sendable (AuthState) async throws -> Void = { _ in }
    /// Told about each step, from whatever thread.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// The address that is listened on.
    public struct Redirect: Sendable, Hashable {
        /// The loopback address.
        public var host = LoopbackRedirectListener.Host.ipv4
        /// Ports, tried in order; 0 is any free one.
        public var ports: [UInt16] = [0]
        /// The path.
        public var path = "/callback"
        /// Whether the path ends in a component that nobody can guess; few providers let it differ.
        public var addsRandomComponent = false
        /// Whether programs of other users on this machine may connect.
        public var sameUser = LoopbackRedirectListener.SameUserCheck.automatic
        /// A scheme of the app's own in place of the loopback address, for clients that are registered with one. No page
        /// of the app's can be shown in the browser then.
        public var privateUse: PrivateUseRedirect?
        /// Any free port of 127.0.0.1.
        public init() {}
    }

    /// A step of the sign-in.
    public enum Event: Sendable {
        /// The provider's metadata is there.
        case provider(ProviderMetadata)
        /// These scopes of the default are not asked for, since the provider does not list them.
        case scopesLeftOut([Scope])
        /// What the provider is going to be asked. A provider that refuses it may show an error on a page of its own, and
        /// never send the browser back: the client id, the redirect URI or a scope may not be registered there.
        case requesting(AuthorizationRequest)
        /// The provider's authorization URL, which the browser is about to be redirected to. Always show it to the person
        /// too: browsers fail in many ways. It works in any browser, and ``SignIn/browser`` itself gets a one-time
        /// loopback URL that redirects there.
        case authorization(url: String)
        /// Something may be in the way of the browser, or protects the sign-in less than it should: tell the person.
        case browserObstacle(BrowserObstacle)
        /// No browser was started: the error says why, if there should have been one. The wait goes on, for a browser that
        /// the person sends to the URL and for what is ``SignIn/pasted``. With `canUseDevice` the provider has the device
        /// flow too: offer ``DeviceSignIn``, and end this run for it.
        case withoutBrowser(AuthError?, canUseDevice: Bool)
        /// What was pasted is not the response to this request; the message says what it is instead. The wait goes on.
        case wrongPaste(AuthError)
        /// The browser was sent to the redirect URI without the state of this request, and was turned away. The wait goes on.
        case foreignRedirect
        /// The browser came back with a response to this request, or the person has pasted it.
        case redirected
        /// The tokens are verified and stored.
        case signedIn(AuthStateRecord)
    }

    /// Describes a sign-in.
    public init(
        issuer: String, clientID: String, clientSecret: Secret? = nil,
        scope: [Scope]? = nil, appName: String, environment: Environment = .live
    ) {
        (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
        (self.scope, self.appName, self.environment) = (scope, appName, environment)
        discovery = Discovery(environment: environment)
    }

    /// Takes up the session that is stored, or signs the person in if there is none of this issuer and client, if it has
    /// ended, or if its access token has expired and it has no refresh token.
    ///
    /// - Throws: As ``run(store:)``.
    public func resume(store: any TokenStore) async throws -> AuthState {
        guard var record = try await store.attempt({ try await store.load() }), record.client.id == clientID,
            record.client.provider.issuer.string == issuer, canGoOn(record)
        else { return try await run(store: store) }
        try record.refuseToMove(at: store.location)
        // A secret that was changed since counts from now on.
        record.client = try client(of: record.client.provider).unless(registeredLater: record.client)
        return AuthState(record: record, store: store, environment: environment, wasStored: true)
    }

    /// Signs the person in, and stores the session in place of the one that is there.
    ///
    /// Waits for the browser until ``timeout``, or until the task is cancelled. What the flow will need is checked before the
    /// browser opens: the store can take a session, the metadata is complete, the port is free. On failure the browser shows
    /// it, nothing is stored, and a session that was stored before stays. Tokens that have come are revoked then, unless
    /// there is a stored session: several providers would end it with them. For the same reason the tokens of a session that
    /// is replaced are not revoked.
    ///
    /// - Throws: ``AuthError``, of every stage up to `store`; what the source of ``pasted`` throws; `CancellationError`.
    public func run(store: any TokenStore) async throws -> AuthState {
        try await store.attempt { try await store.prepare() }
        let client = try await client()
        let (options, pages) = (try options.withTypedParameters(), pages ?? CompletionPages(appName: appName))
        let listener = try await RedirectListener(redirect, responseMode: options.responseMode ?? .query, pages: pages)
        defer { listener.close() }
        let scope = client.provider.scope(scope) { observe(.scopesLeftOut($0)) }
        let request = try await AuthorizationRequest(
            client: client, redirectURI: listener.redirectURI, scope: scope, options: options
        ).prepared(in: environment)
        observe(.requesting(request))
        observe(.authorization(url: request.url))
        try await openBrowser(for: request, by: listener)
        let response = try await withTimeout(timeout, .redirect, "the browser did not come back") { [self] in
            try await FirstResponse(to: request) { [observe] in observe(.wrongPaste($0)) }
                .wait(pasted: pasted?()) { match in
                    try await listener.redirect { query in
                        let response = match(query)
                        if response == nil { ignoreRedirect() }
                        return response
                    }
                }
        }
        observe(.redirected)
        do {
            let state = try await AuthState(
                exchanging: response.get(), store: store, environment: environment, confirm: confirm)
            observe(.signedIn(await state.record))
            await listener.finish(with: pages.signedIn)
            return state
        } catch {
            await listener.finish(with: pages.failed(reason: (error as? AuthError)?.message))
            throw error
        }
    }

    /// RFC 6749 §10.12: without its state it is not the response, whoever sent it.
    private func ignoreRedirect() {
        environment.logger.notice("redirect: ignored, since it is without the state of this sign-in")
        observe(.foreignRedirect)
    }

    /// The browser gets a one-time URL of our own: the provider chooses the authorization URL, which must reach no shell,
    /// and its state must be in no argument list (RFC 6749 §10.12).
    private func openBrowser(for request: AuthorizationRequest, by listener: RedirectListener) async throws {
        if let obstacle = listener.sameUserObstacle { observe(.browserObstacle(obstacle)) }
        let canUseDevice = request.client.provider[.deviceAuthorization] != nil
        guard let browser else { return observe(.withoutBrowser(nil, canUseDevice: canUseDevice)) }
        do {
            let url = listener.oneTimeURL(redirectingTo: request.url)
            for obstacle in try await browser.open(url) { observe(.browserObstacle(obstacle)) }
        } catch let error as AuthError {
            observe(.withoutBrowser(error, canUseDevice: canUseDevice))
        }
    }

    /// The client, with a provider that has all that the flow needs (OpenID Connect Discovery §3).
    private func client() async throws -> Client {
        let found =
            if let provider { provider } else { try await discovery.metadata(for: issuer) }
        var needed: [ProviderMetadata.Endpoint] = [.authorization, .token]
        if scope?.contains(.openID) ?? true { needed.append(.keys) }
        if options.isPushed || found.requiresPushedAuthorizationRequests { needed.append(.pushedAuthorizationRequest) }
        for endpoint in needed + requiredEndpoints { _ = try found.require(endpoint) }
        // RFC 7636 §4.2, RFC 9700 §2.1.1: a provider that names its methods has S256 among them; there is no fallback.
        if let methods = found.codeChallengeMethods, !methods.contains("S256") {
            throw Self.unusable(
                "expected the provider to support the PKCE method S256, found \(methods.joined(separator: ", "))")
        }
        observe(.provider(found))
        return try client(of: found)
    }

    private func client(of provider: ProviderMetadata) throws -> Client {
        let bySecret = clientSecret.map { ClientAuthentication.secret($0, for: provider) }
        let known = try authentication ?? bySecret ?? registration?.authentication()
        var client = Client(
            id: clientID, authentication: known ?? .none, provider: provider, dpop: dpop,
            bindsTokensToCertificate: bindsTokensToCertificate)
        client.registration = registration
        return client
    }

    private func canGoOn(_ record: AuthStateRecord) -> Bool {
        guard record.end == nil else { return false }
        // A session of bearer tokens is not what an app asks for that wants them bound.
        guard dpop == nil || record.proofKey != nil else { return false }
        return record.renewsItself || record.accessToken.map { !$0.isExpired(at: environment.now()) } ?? false
    }

    private static func unusable(_ message: String) -> AuthError { AuthError(.invalidMetadata, .discovery, message) }
}
