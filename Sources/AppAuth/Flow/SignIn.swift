public import AppAuthProtocol
public import AppAuthSession
internal import JOSE
internal import Logging

/// A complete sign-in: discovery, a loopback redirect, the browser, the code exchange, and a page that shows the
/// outcome to the user (RFC 8252 §7.3).
///
/// ```swift
/// let signIn = SignIn(issuer: "https://accounts.example.org", clientID: "my-app", appName: "My App")
/// let state = try await signIn.restoreOrSignIn(store: FileTokenStore(path: path))
/// let token = try await state.freshAccessToken()
/// ```
public struct SignIn: SignInFlow {
    /// The client, and what is requested for it.
    public var configuration: ClientConfiguration
    /// Further options of the authorization request.
    public var options = AuthorizationRequest.Options()
    /// Endpoints that the app needs beyond those of the flow. They are checked before the browser opens.
    public var requiredEndpoints: [ProviderMetadata.Endpoint] = []
    /// The address that the provider redirects the browser to.
    public var redirect = Redirect()
    /// The browser that opens the sign-in. If nil, no browser is started and the app shows the URL of
    /// ``Event/authorization(url:)``.
    ///
    /// The browser is started with a one-time loopback URL of this process, which redirects to the authorization URL.
    /// Neither the provider's text nor `state` then appears in a program's arguments. A browser on another machine
    /// needs the authorization URL itself.
    public var browser: Browser? = .system
    /// A stream of texts that the user pastes, for a browser on another machine that cannot reach the listener. If nil,
    /// nothing can be pasted.
    ///
    /// Each text should be the whole redirect URL. The function is called once per run. The browser is awaited at the
    /// same time, and the first response wins. A text that is not the response is reported by ``Event/wrongPaste(_:)``
    /// and an empty text is skipped; the wait goes on. It also goes on if the stream ends. If the stream throws, the
    /// sign-in ends with that error: the user has chosen another way. The stream is terminated once nothing more is
    /// read. Do not offer pasting with a posted response mode, since the redirect URL then does not hold the response.
    ///
    /// If no listener can be opened, use ``AuthorizationRequest/response(fromPasted:)`` without a `SignIn`.
    public var pasted: (@Sendable () -> AsyncThrowingStream<String, any Error>)?
    /// The time limit for the user in the browser, measured from its start. After that, the sign-in fails with
    /// ``AuthError/Code/timeout`` and the port is released.
    public var timeout: Duration = .seconds(300)
    /// The app's name, for the final page.
    public var appName: String
    /// The pages that the browser shows. If nil, the library's own pages with the app's name.
    public var pages: CompletionPages?
    /// A final step before the session is stored and the user sees success, for example a first request with the new
    /// token. If it throws, the sign-in fails. If it refuses the user with ``AuthError/Code/sessionReplaced``, the new tokens
    /// are not revoked, because that user may have another session.
    public var confirm: @Sendable (AuthState) async throws -> Void = { _ in }
    /// The session that may be replaced; nil for the one that the store has when the sign-in begins.
    package var replaceable: Replaceable?
    /// Called for each step, on any thread. By default, ``printURL`` if standard error is a terminal, or if no browser was
    /// started, and otherwise nothing. An app that draws on its terminal sets another observer.
    public var observe: @Sendable (Event) -> Void = SignIn.defaultObserver()

    /// The address that receives the redirect.
    public struct Redirect: Sendable, Hashable {
        /// The loopback address.
        public var host = LoopbackRedirectListener.Host.ipv4
        /// Ports to try, in order; 0 is any free port.
        public var ports: [UInt16] = [0]
        /// The path.
        public var path = "/callback"
        /// Whether the path ends in a random component, which cannot be guessed. Few providers allow the path to vary.
        public var addsRandomComponent = false
        /// Whether programs of other users on this machine may connect.
        public var sameUser = LoopbackRedirectListener.SameUserCheck.automatic
        /// The certificate of an https address, if the provider accepts no http on loopback.
        public var certificate: LoopbackRedirectListener.Certificate?
        /// A private-use scheme in place of the loopback address, for clients that are registered with one. The app
        /// then cannot show a page in the browser.
        public var privateUse: PrivateUseRedirect?
        /// Creates a redirect to any free port of 127.0.0.1.
        public init() {}
    }

    /// A step of the sign-in.
    public enum Event: Sendable {
        /// The provider's metadata is available.
        case provider(ProviderMetadata)
        /// The provider does not list these default scopes, so they are not requested.
        case scopesLeftOut([Scope])
        /// The request that the provider is about to receive. If the client ID, the redirect URI or a scope is not
        /// registered, the provider may show an error page of its own and never send the browser back.
        case requesting(AuthorizationRequest)
        /// The authorization URL that the browser is about to be redirected to. Always show it to the user too, since
        /// browsers fail in many ways. It works in any browser; ``SignIn/browser`` itself gets a one-time loopback URL
        /// that redirects to it.
        case authorization(url: String)
        /// Something may prevent the browser from opening, or weakens the sign-in's protection. Show it to the user.
        case browserObstacle(BrowserObstacle)
        /// No browser was started, or all programs to open it have failed after their start. The error gives the reason; it is nil if ``SignIn/browser`` is nil. The wait goes
        /// on, for a browser in which the user opens the URL and for ``SignIn/pasted``. If `canUseDevice` is true, the
        /// provider supports the device flow: the app can offer ``DeviceSignIn`` and cancel this run.
        case withoutBrowser(AuthError?, canUseDevice: Bool)
        /// A pasted text is not the response to this request. The error says what it is instead. The wait goes on.
        case wrongPaste(AuthError)
        /// The browser has not come back for 20 seconds, or for a tenth of ``SignIn/timeout`` if that is less. Reported
        /// once; the wait goes on. If the provider does not accept the request, it says so only on its page. The user or
        /// you can compare the client ID, the redirect URI and the scopes with what is registered there.
        case stillWaiting(AuthorizationRequest)
        /// A redirect without the state of this request arrived and was rejected. The wait goes on. Anybody may have sent it. If it
        /// had no state, `error` is its standard error code: some servers leave the state out of a refusal.
        case foreignRedirect(error: AuthError.Code?)
        /// The response to this request arrived, from the browser or pasted by the user.
        case redirected
        /// The tokens are verified and stored.
        case signedIn(AuthStateRecord)
    }

    /// Creates a sign-in.
    public init(
        issuer: Issuer, clientID: String, clientSecret: Secret? = nil,
        scope: [Scope]? = nil, appName: String, environment: Environment = .live
    ) {
        self.init(
            ClientConfiguration(
                issuer: issuer, clientID: clientID, clientSecret: clientSecret, scope: scope, environment: environment),
            appName: appName)
    }

    /// Creates a sign-in with the configuration of another flow, or of a preset.
    public init(_ configuration: ClientConfiguration, appName: String) {
        (self.configuration, self.appName) = (configuration, appName)
    }

    /// Signs the user in and stores the session, replacing the stored session. If another sign-in has stored a session in the
    /// meantime, for something else or of another user, that one stays, and this call throws
    /// ``AuthError/Code/sessionReplaced``.
    ///
    /// Waits for the browser until ``timeout`` or until the task is cancelled. Before the browser opens, the call
    /// checks that the store can take a session, that the metadata is complete and that the port is free.
    ///
    /// If the sign-in fails, a waiting browser shows the failure, nothing is stored, and an existing session stays in
    /// the store. Tokens already issued are then revoked, unless the stored session may be of the same user: at
    /// several providers the revocation would end that session too. After a rejected ID token, none are revoked. The
    /// tokens of a replaced session are revoked under the same condition, after this call has returned: a process
    /// that ends soon calls ``AuthState/settle(atMost:)`` first.
    ///
    /// - Throws: ``AuthError``, of every stage up to `store`; errors thrown by ``confirm`` and by the source of ``pasted``;
    ///   `CancellationError`.
    public func run(store: any TokenStore) async throws -> AuthState {
        try await store.convertingErrors { try await store.prepare() }
        let replaceable = if let replaceable { replaceable } else { await Replaceable(in: store) }
        let client = try await client()
        let (options, pages) = (try options.withTypedParameters(), pages ?? CompletionPages(appName: appName))
        let listener = try await RedirectListener(redirect, responseMode: options.responseMode ?? .query, pages: pages)
        defer { listener.close() }
        let scope = configuration.scope(at: client.provider) { observe(.scopesLeftOut($0)) }
        let proof = try await DPoP.new(for: client, in: configuration.environment)
        let request = try await AuthorizationRequest(
            client: client, redirectURI: listener.redirectURI, scope: scope, options: options, proof: proof
        ).prepared(in: configuration.environment)
        let page = try client.provider.require(.authorization)
        try configuration.environment.checkServer(ofPage: page, .authorization)
        observe(.requesting(request))
        observe(.authorization(url: request.url.shownRequestURL))
        let canUseDevice = client.provider[.deviceAuthorization] != nil
        let watch = BrowserWatch { [observe] result in
            switch result {
            case .success(let obstacle): observe(.browserObstacle(obstacle))
            case .failure(let error): observe(.withoutBrowser(error, canUseDevice: canUseDevice))
            }
        }
        defer { watch.end() }
        listener.onObstacle { [observe] in observe(.browserObstacle($0)) }
        try await openBrowser(for: request, at: page, by: listener, watch)
        let response = try await withTimeout(timeout, .redirect, "the browser did not come back") { [self] in
            let note = Task { [observe, timeout] in
                try await Task.sleep(for: min(.seconds(20), timeout / 10))
                observe(.stillWaiting(request))
            }
            defer { note.cancel() }
            return try await FirstResponse(to: request) { [observe] in observe(.wrongPaste($0)) }
                .wait(pasted: pasted?()) { match in
                    try await listener.redirect { query in
                        let response = match(query)
                        if response == nil { ignoreRedirect(query) }
                        return response
                    }
                }
        }
        watch.end()
        observe(.redirected)
        do {
            let state = try await AuthState.exchange(
                response.get(), store: store, if: replaceable, environment: configuration.environment, confirm: confirm)
            observe(.signedIn(await state.record))
            await listener.finish(with: pages.signedIn)
            return state
        } catch {
            await listener.finish(with: pages.failed(reason: (error as? AuthError)?.message))
            throw error
        }
    }

    /// RFC 6749 §10.12: a redirect without the request's state is not the response, regardless of its sender.
    private func ignoreRedirect(_ query: String) {
        configuration.environment.logger.notice("redirect: ignored, because it lacks the state of this sign-in")
        observe(.foreignRedirect(error: AuthorizationRequest.unattributedError(inQuery: query)))
    }

    /// Opens a one-time URL of this process. The authorization URL is chosen by the provider and must not reach a
    /// shell, and its state must not appear in an argument list (RFC 6749 §10.12).
    private func openBrowser(
        for request: AuthorizationRequest, at page: SecureURL, by listener: RedirectListener, _ watch: BrowserWatch
    ) async throws {
        let canUseDevice = request.client.provider[.deviceAuthorization] != nil
        guard let browser else { return observe(.withoutBrowser(nil, canUseDevice: canUseDevice)) }
        do {
            // A browser can take seconds to start.
            try await listener.open(in: browser, watch, observe: { observe(.browserObstacle($0)) }) {
                [configuration] () throws(AuthError) in
                try configuration.environment.checkServer(ofPage: page, .authorization)
                return request.url
            }
        } catch let error as AuthError {
            observe(.withoutBrowser(error, canUseDevice: canUseDevice))
        }
    }

    /// Returns the client, after checking that the provider has everything that the flow needs (OpenID Connect
    /// Discovery §3).
    private func client() async throws -> Client {
        let client = try await client(requiring: [.authorization, .token] + requiredEndpoints)
        let provider = client.provider
        if options.isPushed || provider.requiresPushedAuthorizationRequests {
            _ = try provider.require(.pushedAuthorizationRequest)
        }
        try provider.requirePKCE()
        if provider.codeChallengeMethods == nil {
            configuration.environment.logger.info(
                "discovery: the provider does not announce PKCE. The sign-in uses it, with S256, all the same")
        }
        observe(.provider(provider))
        return client
    }
}
