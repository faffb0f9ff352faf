public import AppAuthProtocol

/// What a provider needs beyond the standards, as data. An app chooses it: the library applies nothing to a provider by
/// its name.
///
/// ```swift
/// let signIn = try SignIn(.google, clientID: "my-app", clientSecret: secret, appName: "My App")
/// ```
/// Everything can still be changed afterwards, for example ``SignIn/options``. Use the same preset at each start: the
/// dialect is code, and is not stored with the session.
public struct ProviderPreset: Sendable {
    /// The issuer, which also names the provider in stored sessions.
    public var issuer: Issuer
    /// The metadata of a provider without discovery (RFC 8414 §2), without `issuer`. If nil, it is fetched.
    public var metadata: JSON.Object?
    /// The scopes to request if the app names none. If nil, those of ``ClientConfiguration/scope``.
    public var scope: [Scope]?
    /// The options of the authorization request in the browser.
    public var options = AuthorizationRequest.Options()
    /// The loopback host of the redirect URI. If nil, that of ``SignIn/Redirect``.
    public var redirectHost: LoopbackRedirectListener.Host?
    /// The issuers that an ID token may have.
    public var issuerPolicy = IssuerPolicy.exact
    /// The provider's deviations from the RFCs. If nil, the environment's dialect stays.
    public var dialect: Dialect?

    /// Creates a preset that adds nothing.
    public init(issuer: Issuer) { self.issuer = issuer }
}

extension ClientConfiguration {
    /// Creates the configuration of a client at a provider with a preset.
    ///
    /// If `scope` is nil, the preset's is used. If the preset has a dialect, it replaces that of `environment`. The
    /// preset's options and redirect host are not part of a configuration: they are for ``SignIn``.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the preset's metadata is malformed.
    public init(
        _ preset: ProviderPreset, clientID: String, clientSecret: Secret? = nil, scope: [Scope]? = nil,
        environment: Environment = .live
    ) throws {
        var environment = environment
        if let dialect = preset.dialect { environment.dialect = dialect }
        self.init(
            issuer: preset.issuer, clientID: clientID, clientSecret: clientSecret, scope: scope ?? preset.scope,
            environment: environment)
        idTokenRules.issuer = preset.issuerPolicy
        provider = try preset.metadata.map { try ProviderMetadata(issuer: preset.issuer, endpoints: [:], more: $0) }
    }
}

extension SignIn {
    /// Creates a sign-in at a provider with a preset. If `scope` is nil, the preset's is used.
    ///
    /// - Throws: As ``ClientConfiguration/init(_:clientID:clientSecret:scope:environment:)``.
    public init(
        _ preset: ProviderPreset, clientID: String, clientSecret: Secret? = nil, scope: [Scope]? = nil,
        appName: String, environment: Environment = .live
    ) throws {
        self.init(
            try ClientConfiguration(
                preset, clientID: clientID, clientSecret: clientSecret, scope: scope, environment: environment),
            appName: appName)
        options = preset.options
        if let host = preset.redirectHost { redirect.host = host }
    }
}
