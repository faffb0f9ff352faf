public import AppAuthProtocol
public import FoundationEssentials
internal import JOSE

/// The part of an ``AuthState`` that is stored: a value whose merge rules need no I/O.
///
/// It holds tokens and may hold the client's secret. Keep it only in protected stores.
public struct AuthStateRecord: Sendable, Hashable {
    /// A random identifier that distinguishes this sign-in from others, and stays the same until the session ends.
    public let id: String
    /// The name under which a program keeps this session and its later sign-ins; nil for none. It is as random as ``id``.
    package internal(set) var profileID: String?
    /// The client, with its provider's metadata.
    public var client: Client
    /// The granted scope; the requested one if the provider did not say (RFC 6749 §5.1).
    public internal(set) var scope: [Scope]
    /// The requested scopes that the provider has not granted.
    var withheldScope: [Scope] = []
    /// The requested scopes, granted or not, and those that were granted beyond.
    package var requestedScope: [Scope] { scope + withheldScope }
    /// The resources that the sign-in has requested tokens for (RFC 8707). A refresh names them only if the resource has
    /// named the authorization server, because some servers refuse that.
    public package(set) var resources: [String] = []
    /// The current access token; nil after the session has ended. Apps get it from ``AuthState``, once it is stored.
    package internal(set) var accessToken: AccessToken?
    /// The current refresh token, if the provider gave one.
    package internal(set) var refreshToken: Secret?
    /// The ends that the provider has announced.
    package var announced = AnnouncedEnds()
    /// The grant with which the session renews itself without a refresh token.
    package internal(set) var grant: TokenGrant?
    /// The granted authorization details (RFC 9396 §7); empty if the provider did not say.
    public internal(set) var authorizationDetails: [AuthorizationDetail] = []
    /// A JSON object, kept as a secret since a server may send secrets in it; see ``additionalParameters``.
    var additional: Secret?
    /// The key that the tokens are bound to (RFC 9449).
    package internal(set) var proofKey: DPoPKey?
    /// The token endpoint's nonce for the next proof (RFC 9449 §8.1): without it, a refresh in another process would be sent
    /// twice, and some servers have used up the refresh token when they ask for a nonce.
    package internal(set) var proofNonce: String?
    /// The latest ID token, as received; see ``idToken``.
    var verifiedIDToken: Secret?
    /// The nonce of the sign-in: a later ID token may repeat it (OpenID Connect Core §12.2).
    package internal(set) var nonce: Secret?
    /// The URI to which the provider sent the browser back. Sign-out uses the same one, since it is registered.
    package var redirectURI: String?
    /// The provider's keys, so that a refresh in another process need not fetch them.
    package internal(set) var keys: KeySetCache.Entry?
    /// Access tokens for fewer scopes or for certain resources.
    package internal(set) var otherTokens: [TokenParameters: AccessToken] = [:]
    /// The failure of the last refreshes; nil after a success.
    package internal(set) var backoff: RefreshBackoff?
    /// The last refreshes whose ID tokens could not be verified; nil after a verified one.
    package internal(set) var unverifiedIDToken: RefreshBackoff?
    /// What a refresh names, as far as the provider's responses have shown.
    package internal(set) var refreshForm = RefreshForm()
    /// Whether the provider has accepted a refresh token of this session.
    package internal(set) var hasRefreshed = false
    /// Why and when the session ended; nil while it lasts.
    public internal(set) var end: End?

    /// The credential for the next access token.
    package enum Credential: Sendable {
        /// Good only once if the provider rotates it (RFC 6749 §6).
        case refreshToken(Secret)
        /// Good any number of times (RFC 6749 §4.4).
        case grant(TokenGrant)
    }

    /// The end of a session.
    public struct End: Sendable, Hashable {
        /// The reason, in one line, without secrets.
        public let reason: String
        /// The time of the end.
        public let date: Date

        package init(reason: String, date: Date) { (self.reason, self.date) = (reason.onOneLine, date) }
    }

    /// Creates a session from tokens that an app has from elsewhere, for example from another library's store.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the system provides no random bytes.
    public init(client: Client, scope: [Scope] = [], accessToken: AccessToken?, refreshToken: Secret?) throws {
        id = try Secret(randomBytes: 16).reveal()
        (self.client, self.scope) = (client, scope)
        (self.accessToken, self.refreshToken) = (accessToken, refreshToken)
    }

    /// Creates a new session whose tokens are bound to the key, if there is one.
    init(client: Client, scope: [Scope], proof: DPoP?) throws {
        try self.init(client: client, scope: scope, accessToken: nil, refreshToken: nil)
        proofKey = proof?.key
    }

    /// Creates the session that a grant without a browser begins.
    init(client: Client, grant: TokenGrant, proof: DPoP?) throws {
        try self.init(client: client, scope: grant.scope, proof: proof)
        resources = grant.resources
        if grant.isRepeatable { self.grant = grant }
    }

    /// Creates the session that a sign-in begins.
    init(request: AuthorizationRequest, response: TokenResponse, idToken: IDToken?, keys: KeySetCache.Entry?) throws {
        try self.init(client: request.client, scope: request.scope, proof: request.proof)
        (nonce, redirectURI, resources) = (request.nonce, request.redirectURI, request.options.resources)
        merge(response, idToken: idToken, keys: keys)
    }

    /// Returns whether this is a later sign-in of the same user with the same client and profile, for the same resources;
    /// false if either has no ID token.
    func succeeds(_ other: AuthStateRecord) -> Bool {
        guard id != other.id, profileID == other.profileID, end == nil, client.id.isExactly(other.client.id),
            client.provider.issuer == other.client.provider.issuer, Set(resources) == Set(other.resources)
        else { return false }
        return isOfUser(of: other) == true
    }

    /// Whether a revocation of one session's tokens could end the other: several providers then end all grants that the
    /// user has given the client, or all clients of one project. If a session does not say whose it is, they may have
    /// the same user.
    func mayShareGrant(with other: AuthStateRecord) -> Bool {
        client.provider.issuer == other.client.provider.issuer && isOfUser(of: other) != false
    }

    /// Returns the error that keeps the session from being refreshed at this time: that of the last refresh, with
    /// ``AuthError/retryDelay``. Returns nil if nothing does.
    public func refreshPause(at now: Timestamp) -> AuthError? {
        guard let backoff, !backoff.pause.isOver(at: now) else { return nil }
        return backoff.pauseError(at: now)
    }

    /// Whether only a new sign-in helps: the session has ended, or the provider refuses each refresh, as far as is known. A
    /// refresh that succeeds all the same makes it false again. See ``AuthError/needsSignIn``.
    public var needsSignIn: Bool { end != nil || backoff?.needsSignIn ?? false }

    /// Why the ID token of the last refresh could not be verified; nil if it was. Until one is, ``idToken`` is the one
    /// before.
    public func idTokenError(at now: Timestamp) -> AuthError? { unverifiedIDToken?.error(at: now) }

    /// The expiry of the current access token; nil if there is none, or if the provider did not say.
    public var accessTokenExpiresAt: Date? { accessToken?.expiresAt }

    /// When the session will end, as far as the provider has announced it: then, or before, the user has to sign in again.
    /// By the clock of this machine.
    ///
    /// From `authorization_expires_in`, `refresh_token_expires_in` or `refresh_expires_in` of the token responses, and
    /// `session_expiry` of the ID token. Nil if none of them was there, and if the refreshes so far have put off that end.
    public var announcedEnd: Date? { end == nil ? announced.signIn : nil }

    /// When the refresh token will expire unless the session is refreshed before, as far as the provider has announced it. By
    /// the clock of this machine.
    ///
    /// From `refresh_token_timeout` of the token responses, and from the lifetime of a refresh token that refreshes prolong. Nil
    /// if none of them was there, or if ``announcedEnd`` comes first.
    public var refreshDeadline: Date? { end == nil ? announced.refresh : nil }

    /// Whether the provider gave a refresh token.
    public var hasRefreshToken: Bool { refreshToken != nil }

    /// Whether the session can go on without the user when the access token expires: with a refresh token, or with the
    /// client's own credentials.
    public var renewsItself: Bool { credential != nil }

    /// Whether the session can give out an access token now: it has not ended, and can be renewed without the user unless
    /// its access token is still valid.
    package func isUsable(at now: Timestamp) -> Bool {
        guard end == nil else { return false }
        return renewsItself && !needsSignIn || accessToken.map { !$0.isExpired(at: now) } ?? false
    }

    /// The proof of possession of the key that the tokens are bound to; nil for bearer tokens.
    var proof: DPoP? {
        guard let proofKey else { return nil }
        guard let proofNonce, let url = try? client.require(.token) else { return DPoP(key: proofKey) }
        return DPoP(key: proofKey, knowing: (url, proofNonce))
    }

    /// The credential for the next access token.
    package var credential: Credential? {
        if let grant { return .grant(grant) }
        return refreshToken.map(Credential.refreshToken)
    }

    /// The additional parameters of the token response (RFC 6749 §5.1), for example `patient` or `instance_url`. They
    /// are those of the latest response for the session's own tokens that had any. They are removed when the session
    /// ends, as the tokens are.
    public var additionalParameters: JSON.Object {
        additional.flatMap { try? JSON(parsing: $0.bytes).object } ?? JSON.Object()
    }

    /// The latest verified ID token. It stays after the end of the session, for "Welcome back, …".
    public var idToken: IDToken? { verifiedIDToken.flatMap { try? IDToken(storedAfterVerification: $0) } }

    /// All access tokens: the session's own, and those for other parameters.
    var accessTokens: [AccessToken] { [accessToken].compactMap(\.self) + otherTokens.values }

    /// Returns the token that was issued for these parameters.
    package func token(for parameters: TokenParameters) -> AccessToken? {
        parameters == .session ? accessToken : otherTokens[parameters]
    }

    /// Whether this is a session of this client at this issuer, so that the client may use its tokens.
    package func belongs(to clientID: String, at issuer: Issuer) -> Bool {
        client.id.isExactly(clientID) && client.provider.issuer == issuer
    }
}
