/// What an app accepts in ID tokens. The defaults are strict: change them only where a provider requires it.
///
/// They are stored with the session, so that a refresh in another process verifies in the same way.
///
/// ```swift
/// signIn.idTokenRules.trustedAudiences = ["PROJECT ID"]
/// ```
public struct IDTokenRules: Sendable, Hashable {
    /// The issuers that are accepted (Core §3.1.3.7 step 2). Only the provider's by default.
    public var issuer = IssuerPolicy.exact
    /// The audiences that are accepted besides the client (Core §3.1.3.7 step 3). None by default.
    public var trustedAudiences: Set<String> = []
    /// How far the times in a token may differ from the provider's clock, or from this machine's if that is not known. 60
    /// seconds by default.
    public var leeway: Duration = .seconds(60)
    /// The maximum age of a token that was just received, by its `iat`. A day by default. (The maximum age of the user's
    /// sign-in is ``AuthorizationRequest/Options/maxAge``.)
    public var maximumAge: Duration = .seconds(86_400)

    /// The only accepted signature algorithm of ID tokens and logout tokens, for example `ES256`.
    ///
    /// Set it if the app knows the client's registration (`id_token_signed_response_alg`). If it is nil, the algorithm
    /// in ``Client/registration`` counts, or else those that the provider lists. For tokens that do not come from the
    /// token endpoint, an HMAC (`HS256`) is accepted only if it is named here or registered.
    public var signedResponseAlgorithm: String?

    /// Whether ID tokens are neither expected nor used, because only a resource has demanded the scope `openid`, of a
    /// server that has no keys to verify them.
    package var areIgnored = false

    /// Creates the default rules.
    public init() {}
}
