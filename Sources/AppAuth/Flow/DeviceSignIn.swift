public import AppAuthProtocol
public import AppAuthSession

/// A complete sign-in without a browser on this machine: discovery, a code that the user enters on another device, and
/// polling until the user approves it (RFC 8628).
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
    public var issuer: Issuer
    /// The provider's metadata, for a provider without discovery. If nil, it is fetched from the issuer.
    public var provider: ProviderMetadata?
    /// The client ID.
    public var clientID: String
    /// How the client authenticates. If nil, it uses its secret, if any, with a method that the provider supports.
    public var authentication: ClientAuthentication?
    /// The client secret, for a confidential client.
    public var clientSecret: Secret?
    /// The type of key that binds the tokens to the session (RFC 9449), or nil for bearer tokens.
    public var dpop: DPoPAlgorithm?
    /// What is accepted in ID tokens. It is stored with the session.
    public var idTokenRules = IDTokenRules()
    /// The result of dynamic client registration (RFC 7591), if any. It is stored with the session.
    public var registration: ClientRegistration?
    /// The scopes to request. If nil, `openid`, `profile` and `offline_access`, as far as the provider lists them
    /// (``ProviderMetadata/scopes``).
    public var scope: [Scope]?
    /// Parameters that this provider requires beyond the RFC, for example `audience`.
    public var additionalParameters: [AuthorizationRequest.Options.Parameter] = []
    /// The HTTP transport, clock and logger.
    public var environment: Environment
    /// A final step before the session is stored, for example a first request with the new token. If it throws, the
    /// sign-in fails.
    public var confirm: @Sendable (AuthState) async throws -> Void = { _ in }
    /// Called for each step, on any thread. It must show the code to the user.
    public var observe: @Sendable (Event) -> Void = { _ in }

    /// A step of the sign-in.
    public enum Event: Sendable {
        /// The provider's metadata is available.
        case provider(ProviderMetadata)
        /// The provider does not list these default scopes, so they are not requested.
        case scopesLeftOut([Scope])
        /// The user must open ``DeviceAuthorization/verificationURI`` and enter ``DeviceAuthorization/userCode``, or
        /// open ``DeviceAuthorization/verificationURIComplete``, before ``DeviceAuthorization/expiresAt``.
        case code(DeviceAuthorization)
        /// The provider was polled, and the user has not decided yet.
        case polling(PollingProgress)
        /// The tokens are verified and stored.
        case signedIn(AuthStateRecord)
    }

    /// Creates a sign-in.
    public init(
        issuer: Issuer, clientID: String, clientSecret: Secret? = nil,
        scope: [Scope]? = nil, environment: Environment = .live
    ) {
        (self.issuer, self.clientID, self.clientSecret) = (issuer, clientID, clientSecret)
        (self.scope, self.environment) = (scope, environment)
    }

    /// Signs the user in and stores the session, replacing any stored session.
    ///
    /// Waits until the user decides, the code expires or the task is cancelled. Before the code is shown, the call
    /// checks that the store can take a session and that the metadata is complete. If the sign-in fails, nothing is
    /// stored and an existing session stays in the store. Tokens that were already issued are revoked as described at
    /// ``SignIn/run(store:)``.
    ///
    /// - Throws: ``AuthError``: ``AuthError/Code/expiredToken``, ``AuthError/Code/accessDenied``, and those of every
    ///   stage up to `store`; `CancellationError`.
    public func run(store: any TokenStore) async throws -> AuthState {
        try await store.convertingErrors { try await store.prepare() }
        let client = try await client()
        let request = try DeviceAuthorizationRequest(
            client: client, scope: client.provider.scope(scope) { observe(.scopesLeftOut($0)) },
            additionalParameters: additionalParameters)
        let authorization = try await request.send(in: environment)
        observe(.code(authorization))
        let state = try await AuthState.awaitApproval(
            of: authorization, store: store, environment: environment, observe: { observe(.polling($0)) },
            confirm: confirm)
        observe(.signedIn(await state.record))
        return state
    }

    /// Returns the client, after checking that the provider has every endpoint that the flow needs.
    private func client() async throws -> Client {
        let discovery = Discovery(environment: environment)
        var found = if let provider { provider } else { try await discovery.metadata(for: issuer) }
        // RFC 8628 §4 registers the endpoint in the metadata of RFC 8414. Some providers list it only there.
        found = try await discovery.complete(found, with: .deviceAuthorization)
        var needed: [ProviderMetadata.Endpoint] = [.deviceAuthorization, .token]
        if scope?.contains(.openID) ?? true { needed.append(.keys) }
        for endpoint in needed { _ = try found.require(endpoint) }
        observe(.provider(found))
        let bySecret = clientSecret.map { ClientAuthentication.secret($0, for: found) }
        let known = try authentication ?? bySecret ?? registration?.authentication()
        var client = Client(id: clientID, authentication: known ?? .none, provider: found, dpop: dpop)
        (client.registration, client.idTokenRules) = (registration, idTokenRules)
        return client
    }
}
