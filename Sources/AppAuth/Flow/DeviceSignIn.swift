public import AppAuthProtocol
public import AppAuthSession

/// A complete sign-in without a browser on this machine: discovery, a code that the user enters on another device, and
/// polling until the user approves it (RFC 8628).
///
/// ```swift
/// var signIn = DeviceSignIn(issuer: "https://accounts.example.org", clientID: "my-app")
/// signIn.observe = { event in
///     guard case .code(let code) = event else { return }
///     print("Requested at accounts.example.org. Never enter a code that someone has sent you.")
///     print("Open \(code.verificationURI) and enter \(code.userCode)")
/// }
/// let state = try await signIn.run(store: FileTokenStore(path: path))
/// ```
public struct DeviceSignIn: SignInFlow {
    /// The client, and what is requested for it.
    public var configuration: ClientConfiguration
    /// The resources that the access token is for (RFC 8707).
    public var resources: [String] = []
    /// Parameters that this provider requires beyond the RFC, for example `audience`.
    public var additionalParameters: [AuthorizationRequest.Options.Parameter] = []
    /// The user's agreement to what ``AuthError/confirmation`` asks.
    public var confirmed: SignInConfirmation?
    /// A final step before the session is stored, for example a first request with the new token. If it throws, the
    /// sign-in fails.
    public var confirm: @Sendable (AuthState) async throws -> Void = { _ in }
    /// The session that may be replaced; nil for the one that the store has when the sign-in begins.
    package var replaceable: Replaceable?
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
        self.init(
            ClientConfiguration(
                issuer: issuer, clientID: clientID, clientSecret: clientSecret, scope: scope, environment: environment))
    }

    /// Creates a sign-in with the configuration of another flow, or of a preset.
    public init(_ configuration: ClientConfiguration) { self.configuration = configuration }

    /// Signs the user in and stores the session, replacing the stored session. If another sign-in has stored a session in the
    /// meantime, for something else or of another user, that one stays, and this call throws
    /// ``AuthError/Code/sessionReplaced``.
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
        let replaceable = if let replaceable { replaceable } else { await Replaceable(in: store) }
        let client = try await client(requiring: [.deviceAuthorization, .token])
        observe(.provider(client.provider))
        let environment = configuration.environment
        let request = try DeviceAuthorizationRequest(
            client: client, scope: configuration.scope(at: client.provider) { observe(.scopesLeftOut($0)) },
            resources: resources, additionalParameters: additionalParameters, confirmed: confirmed)
        let authorization = try await request.send(in: environment)
        for page in [authorization.verificationURI, authorization.verificationURIComplete].compactMap(\.self) {
            try environment.checkServer(ofPage: page, .authorization)
        }
        observe(.code(authorization))
        let state = try await AuthState.awaitApproval(
            of: PollingGrant(authorization), store, if: replaceable, environment, { observe(.polling($0)) }, confirm)
        observe(.signedIn(await state.record))
        return state
    }
}
