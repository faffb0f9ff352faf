public import AppAuthProtocol
public import AppAuthSession

/// A whole sign-in without a browser on this machine, in one call: discovery, a code that the person enters on another
/// device, and the wait until they have approved it (RFC 8628).
///
/// ```swift
/// var signIn = DeviceSignIn(issuer: "https://accounts.example.org", clientID: "my-app")
/// signIn.observe = { event in
///     guard case .code(let code) = event else { return }
///     print("Open \(code.verificationURI) and enter \(code.userCode)")
/// }
/// let state = try await signIn.run(store: FileTokenStore(path: path))
/// ```
public struct DeviceSignIn: Sendable {
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
    /// What the provider registered (RFC 7591), for a client that registered itself: it is stored with the session.
    public var registration: ClientRegistration?
    /// What is asked for; nil means `openid`, `profile` and `offline_access`, as far as the provider lists them
    /// (``ProviderMetadata/scopes``).
    public var scope: [Scope]?
    /// What this provider wants beyond the RFC, for example `audience`.
    public var additionalParameters: [AuthorizationRequest.Options.Parameter] = []
    /// HTTP, clock and log.
    public var environment: Environment
    /// How time passes while the person is busy elsewhere.
    public var sleep = PollingOptions().sleep
    /// A last step before the session is stored, for example a first request with the new token. If it throws, the
    /// sign-in has failed.
    public var confirm: @Sendable (AuthState) async throws -> Void = { _ in }
    /// Told about each step, from whatever thread. Has to show the code.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// A step of the sign-in.
    public enum Event: Sendable {
        /// The provider's metadata is there.
        case provider(ProviderMetadata)
        /// These scopes of the default are not asked for, since the provider does not list them.
        case scopesLeftOut([Scope])
        /// The person has to open ``DeviceAuthorization/verificationURI`` and enter ``DeviceAuthorization/userCode``, or
        /// open ``DeviceAuthorization/verificationURIComplete``, before ``DeviceAuthorization/expiresAt``.
        case code(DeviceAuthorization)
        /// The provider was asked: nobody has decided yet.
        case waiting
        /// The provider wants to be asked less often: from now on with this pause.
        case slowedDown(interval: Duration)
        /// The provider could not be reached or could not answer. The wait goes on: it is asked again after the pause.
        case connectionTrouble(AuthError, pause: Duration)
        /// The tokens are verified and stored.
        case signedIn(AuthStateRecord)
    }

    /// Describes a sign-in.
    public init(
        issuer: String, clientID: String, clientSecret: Secret? = nil,
        scope: [Scope]? = nil, environment: Environment = .live
    ) {
        (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
        (self.scope, self.environment) = (scope, environment)
    }

    /// Signs the person in, and stores the session in place of the one that is there.
    ///
    /// Waits until the person has decided, the code has expired or the task is cancelled. What the flow will need is
    /// checked before the code is shown: the store can take a session, the metadata is complete. On failure nothing is
    /// stored, and a session that was stored before stays. Tokens that have come are revoked as after ``SignIn/run(store:)``.
    ///
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, and those of every
    ///   stage up to `store`; `CancellationError`.
    public func run(store: any TokenStore) async throws -> AuthState {
        try await store.attempt { try await store.prepare() }
        let client = try await client()
        let request = try DeviceAuthorizationRequest(
            client: client, scope: client.provider.scope(scope) { observe(.scopesLeftOut($0)) },
            additionalParameters: additionalParameters)
        let authorization = try await request.send(in: environment)
        observe(.code(authorization))
        var wait = PollingOptions()
        wait.sleep = sleep
        wait.observe = { [observe] progress in observe(Event(progress)) }
        let state = try await AuthState(
            awaiting: authorization, store: store, environment: environment, wait: wait, confirm: confirm)
        observe(.signedIn(await state.record))
        return state
    }

    /// The client, with a provider that has all that the flow needs.
    private func client() async throws -> Client {
        let discovery = Discovery(environment: environment)
        var found = if let provider { provider } else { try await discovery.metadata(for: issuer) }
        // RFC 8628 §4 puts the endpoint into the document of RFC 8414, which is the only place where some have it.
        found = try await discovery.complete(found, with: .deviceAuthorization)
        var needed: [ProviderMetadata.Endpoint] = [.deviceAuthorization, .token]
        if scope?.contains(.openID) ?? true { needed.append(.keys) }
        for endpoint in needed { _ = try found.require(endpoint) }
        observe(.provider(found))
        let bySecret = clientSecret.map { ClientAuthentication.secret($0, for: found) }
        let known = try authentication ?? bySecret ?? registration?.authentication()
        var client = Client(id: clientID, authentication: known ?? .none, provider: found, dpop: dpop)
        client.registration = registration
        return client
    }
}

extension DeviceSignIn.Event {
    fileprivate init(_ progress: PollingOptions.Progress) {
        switch progress {
        case .waiting: self = .waiting
        case .slowedDown(let interval): self = .slowedDown(interval: interval)
        case .connectionTrouble(let error, let pause): self = .connectionTrouble(error, pause: pause)
        }
    }
}
