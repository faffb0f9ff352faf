public import AppAuthProtocol
public import FoundationEssentials
internal import JOSE

/// The part of an ``AuthState`` that is stored: a value whose merge rules need no I/O.
///
/// It holds tokens and may hold the client's secret. Keep it only in protected stores.
public struct AuthStateRecord: Sendable, Hashable {
    /// A random identifier that distinguishes this sign-in from others, and stays the same until the session ends.
    public let id: String
    /// The client, with its provider's metadata.
    public var client: Client
    /// The granted scope; the requested one if the provider did not say (RFC 6749 §5.1).
    public private(set) var scope: [Scope]
    /// The resources that the sign-in has requested tokens for (RFC 8707). A refresh does not name them by itself, because
    /// some servers refuse that.
    public internal(set) var resources: [String] = []
    /// The current access token; nil after the session has ended. Apps get it from ``AuthState``, once it is stored.
    package private(set) var accessToken: AccessToken?
    /// The current refresh token, if the provider gave one.
    package private(set) var refreshToken: Secret?
    /// The grant with which the session renews itself without a refresh token.
    package private(set) var grant: TokenGrant?
    /// The granted authorization details (RFC 9396 §7); empty if the provider did not say.
    public private(set) var authorizationDetails: [AuthorizationDetail] = []
    /// A JSON object, kept as a secret since a server may send secrets in it; see ``additionalParameters``.
    private var additional: Secret?
    /// The key that the tokens are bound to (RFC 9449).
    package private(set) var proofKey: DPoPKey?
    /// The latest ID token, as received; see ``idToken``.
    private var verifiedIDToken: Secret?
    /// The nonce of the sign-in: a later ID token may repeat it (OpenID Connect Core §12.2).
    package private(set) var nonce: Secret?
    /// The URI to which the provider sent the browser back. Sign-out uses the same one, since it is registered.
    package private(set) var redirectURI: String?
    /// The provider's keys, so that a refresh in another process need not fetch them.
    package private(set) var keys: KeySetCache.Entry?
    /// Access tokens for fewer scopes or for certain resources.
    package private(set) var otherTokens: [TokenParameters: AccessToken] = [:]
    /// The note about the refresh token, from before it is sent until a response shows what became of it.
    package var pendingRefresh: PendingRefresh?
    /// The failure of the last refreshes; nil after a success.
    package private(set) var backoff: RefreshBackoff?
    /// Why and when the session ended; nil while it lasts.
    public private(set) var end: End?
    /// The mark of a session that is being moved to or from another store, and must not be used from this one. See
    /// ``TokenStore/moveSession(to:)``.
    package var move: Move?

    package enum Move: Sendable, Hashable {
        case leaving(to: String)
        case arriving(from: String)
        /// The session was signed out here while it was being moved. Any copy in the other store is over, too.
        case signedOut(at: String)
    }

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
        if grant.isRepeatable { self.grant = grant }
    }

    /// Creates the session that a sign-in begins.
    init(request: AuthorizationRequest, response: TokenResponse, idToken: IDToken?, keys: KeySetCache.Entry?) throws {
        try self.init(client: request.client, scope: request.scope, proof: request.proof)
        (nonce, redirectURI, resources) = (request.nonce, request.redirectURI, request.options.resources)
        merge(response, idToken: idToken, keys: keys)
    }

    /// Returns whether this is a later sign-in of the same user with the same client; false if either has no ID token.
    func succeeds(_ other: AuthStateRecord) -> Bool {
        guard id != other.id, end == nil, client.id.isExactly(other.client.id),
            client.provider.issuer == other.client.provider.issuer, let idToken, let previous = other.idToken
        else { return false }
        return idToken.isAbout(userOf: previous)
    }

    /// Whether a revocation of one session's tokens could end the other: several providers then end all grants that the
    /// user has given the client, or all clients of one project. If a session does not say whose it is, they may have
    /// the same user.
    func mayShareGrant(with other: AuthStateRecord) -> Bool {
        guard client.provider.issuer == other.client.provider.issuer else { return false }
        guard let idToken, let theirs = other.idToken else { return true }
        return idToken.isAbout(userOf: theirs)
    }

    /// Returns the error that keeps the session from being refreshed at this time: that of the last refresh, with
    /// ``AuthError/nextAttempt``. Returns nil if nothing does.
    public func refreshPause(at now: Timestamp) -> AuthError? {
        guard let backoff, !backoff.pause.isOver(at: now) else { return nil }
        return backoff.pauseError(at: now)
    }

    /// The expiry of the current access token; nil if there is none, or if the provider did not say.
    public var accessTokenExpiresAt: Date? { accessToken?.expiresAt }

    /// Whether the provider gave a refresh token.
    public var hasRefreshToken: Bool { refreshToken != nil }

    /// Whether the session can go on without the user when the access token expires: with a refresh token, or with the
    /// client's own credentials.
    public var renewsItself: Bool { credential != nil }

    /// Whether the session can give out an access token now: it has not ended, and can be renewed unless its access token
    /// is still valid.
    package func isUsable(at now: Timestamp) -> Bool {
        end == nil && (renewsItself || accessToken.map { !$0.isExpired(at: now) } ?? false)
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

    /// Merges a response of the token endpoint. A refresh token (RFC 6749 §6), scope (§5.1) or ID token (OpenID Connect
    /// Core §12.2) that the response does not repeat stays.
    mutating func merge(
        _ response: TokenResponse, for parameters: TokenParameters = .session, idToken: IDToken?,
        keys: KeySetCache.Entry?
    ) {
        if parameters == .session {
            accessToken = response.token
            scope = response.scope ?? scope
            authorizationDetails = response.authorizationDetails ?? authorizationDetails
            additional = response.additionalParameters ?? additional
        } else {
            keep(response.token, for: parameters)
        }
        verifiedIDToken = idToken?.rawValue ?? verifiedIDToken
        self.keys = keys ?? self.keys
        merge(refreshToken: response.refreshToken)
        backoff = nil
    }

    /// Merges only the rotated refresh token, if there is one. The rest of the response may be unusable.
    mutating func merge(refreshToken rotated: Secret?) {
        // RFC 6749 §4.4.3: a session of client credentials has no use for a refresh token.
        if grant == nil { refreshToken = rotated ?? refreshToken }
        pendingRefresh = nil
    }

    private mutating func keep(_ token: AccessToken, for parameters: TokenParameters) {
        otherTokens = otherTokens.filter { !$0.value.isExpired(at: token.received) }
        if otherTokens.count >= Self.mostOtherTokens,
            let oldest = otherTokens.min(by: { $0.value.issuedAt < $1.value.issuedAt })?.key
        {
            otherTokens[oldest] = nil
        }
        otherTokens[parameters] = token
    }

    private static let mostOtherTokens = 16

    /// Replaces the client, or its configuration.
    package mutating func change(_ client: Client) {
        // Keys from another URL are no longer the provider's.
        let name = ProviderMetadata.Endpoint.keys.rawValue
        if client.provider.document[name] != self.client.provider.document[name] { keys = nil }
        self.client = client
    }

    /// Uses the app's current client, unless the stored one was registered later.
    package mutating func use(_ current: Client) { change(current.unless(registeredLater: client)) }

    /// Whether this is a session of this client at this issuer, so that the client may use its tokens.
    package func belongs(to clientID: String, at issuer: Issuer) -> Bool {
        client.id.isExactly(clientID) && client.provider.issuer == issuer
    }

    /// Records one more failed refresh in a row.
    mutating func fail(_ error: AuthError, at now: Timestamp, jitter: Double) -> RefreshBackoff {
        let backoff = RefreshBackoff(error, after: backoff, at: now, jitter: jitter)
        self.backoff = backoff
        return backoff
    }

    /// Ends the session. All tokens are removed; the claims stay. A session that has already ended does not change.
    mutating func end(_ reason: String, at date: Date) {
        guard end == nil else { return }
        (accessToken, refreshToken, grant, keys, pendingRefresh, backoff) = (nil, nil, nil, nil, nil, nil)
        (otherTokens, proofKey, additional) = ([:], nil, nil)
        end = End(reason: reason, date: date)
    }

    /// Returns what a sign-out leaves in a store: nothing, except for a session that is being moved. If the process
    /// that moved it died, the copy in the other store may be in use, so the next move must see the end.
    static func signedOut(_ record: AuthStateRecord?, at date: Date) -> AuthStateRecord? {
        guard var record else { return nil }
        switch record.move {
        case .leaving(let location), .arriving(let location): record.move = .signedOut(at: location)
        case .signedOut: break
        case nil: return nil
        }
        record.end("signed out", at: date)
        // Keep only that the session is over.
        (record.verifiedIDToken, record.nonce, record.redirectURI) = (nil, nil, nil)
        (record.authorizationDetails, record.resources) = ([], [])
        record.client = Client(id: record.client.id, provider: record.client.provider)
        return record
    }
}

extension AuthStateRecord {
    private static let format = "swift-appauth session"
    private static let version = 1

    /// The record as JSON, with dates in seconds since 1970.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` for a date that is not a number of seconds.
    public func encoded() throws -> [UInt8] {
        var json: JSON.Object = [
            "format": .string(Self.format), "version": .number(.init(Self.version)), "id": .string(id),
            "client": client.stored, "scope": .array(scope.map { .string($0.rawValue) }),
        ]
        if !resources.isEmpty { json["resources"] = .array(resources.map(JSON.string)) }
        json["registration"] = try client.registration?.stored
        json["accessToken"] = try accessToken?.stored
        json["refreshToken"] = refreshToken.map(JSON.init(storing:))
        json["grant"] = grant?.stored
        if !authorizationDetails.isEmpty { json["authorizationDetails"] = authorizationDetails.json }
        json["additionalParameters"] = additional.map(JSON.init(storing:))
        json["proofKey"] = proofKey?.stored
        json["verifiedIDToken"] = verifiedIDToken.map(JSON.init(storing:))
        json["nonce"] = nonce.map(JSON.init(storing:))
        json["redirectURI"] = redirectURI.map(JSON.string)
        json["keys"] = try keys.map { ["document": $0.document, "term": try $0.term.stored] }
        if !otherTokens.isEmpty { json["otherTokens"] = .array(try otherTokens.map { try $0.stored(with: $1) }) }
        json["pendingRefresh"] = try pendingRefresh?.stored
        json["backoff"] = try backoff?.stored
        switch move {
        case .leaving(let location): json["move"] = ["to": .string(location)]
        case .arriving(let location): json["move"] = ["from": .string(location)]
        case .signedOut(let location): json["move"] = ["over": .string(location)]
        case nil: break
        }
        json["end"] = try end.map { ["reason": .string($0.reason), "date": try JSON(storing: $0.date)] }
        return Array(JSON.object(json).serialized().utf8)
    }

    /// Decodes a record.
    ///
    /// - Parameters:
    ///   - bytes: The encoded record.
    ///   - location: The location of the record, for the error message.
    /// - Throws: ``AuthError`` with ``StoreProblem/damaged`` unless the bytes are a complete record of a known version.
    public init(decoding bytes: [UInt8], from location: String) throws {
        func refusal(_ why: String) -> AuthError {
            .damagedStore(location, why)
        }
        // JSON from servers is nested two levels deeper here.
        guard let json = try? JSON(parsing: bytes, maximumDepth: 66), json["format"]?.string == Self.format,
            let version = json["version"]?.int
        else { throw refusal("is damaged or does not hold a session") }
        guard version == Self.version else {
            throw refusal("holds a session of version \(version), expected version \(Self.version)")
        }
        do { try self.init(stored: StoredObject(json)) } catch { throw refusal("holds a damaged session") }
    }

    private init(stored json: StoredObject) throws {
        id = try json.string("id")
        client = try Client(stored: json.object("client"))
        client.registration = try json.optional("registration") { try ClientRegistration(stored: $0.object($1)) }
        scope = try json.strings("scope").map(Scope.init(rawValue:))
        resources = try json.optional("resources") { try $0.strings($1) } ?? []
        accessToken = try json.optional("accessToken") { try AccessToken(stored: $0.object($1)) }
        refreshToken = try json.optional("refreshToken") { try $0.secret($1) }
        grant = try json.optional("grant") { try TokenGrant(stored: $0.object($1)) }
        authorizationDetails =
            try json.optional("authorizationDetails") { try $0.value($1).array?.map(AuthorizationDetail.init) ?? [] }
            ?? []
        additional = try json.optional("additionalParameters") { try $0.secret($1) }
        proofKey = try json.optional("proofKey") { try DPoPKey(stored: $0.object($1)) }
        verifiedIDToken = try json.optional("verifiedIDToken") { try $0.secret($1) }
        nonce = try json.optional("nonce") { try $0.secret($1) }
        redirectURI = try json.optional("redirectURI") { try $0.string($1) }
        keys = try json.optional("keys") {
            let keys = try $0.object($1)
            return KeySetCache.Entry(
                document: try keys.value("document"), term: try Term(stored: keys.object("term")))
        }
        for entry in try json.optional("otherTokens", { try $0.objects($1) }) ?? [] {
            otherTokens[try TokenParameters(stored: entry)] = try AccessToken(stored: entry.object("token"))
        }
        pendingRefresh = try json.optional("pendingRefresh") { try PendingRefresh(stored: $0.object($1)) }
        backoff = try json.optional("backoff") { try RefreshBackoff(stored: $0.object($1)) }
        move = try json.optional("move") {
            let move = try $0.object($1)
            if let location = try move.optional("to", { try $0.string($1) }) { return .leaving(to: location) }
            if let location = try move.optional("over", { try $0.string($1) }) { return .signedOut(at: location) }
            return .arriving(from: try move.string("from"))
        }
        end = try json.optional("end") {
            let end = try $0.object($1)
            return End(reason: try end.string("reason"), date: try end.date("date"))
        }
    }
}

extension AuthError {
    /// Returns the error for a store whose content is not a session.
    package static func damagedStore(_ location: String, _ why: String) -> AuthError {
        var error = AuthError(.store, .store, "\(location) \(why). It was not changed", outcome: .notSent)
        error.storeProblem = .damaged
        return error
    }
}

extension RevocableToken {
    /// Returns a refresh token and access tokens.
    static func tokens(_ refreshToken: Secret?, _ accessTokens: [Secret]) -> [RevocableToken] {
        (refreshToken.map { [RevocableToken(typeHint: "refresh_token", value: $0)] } ?? [])
            + accessTokens.map { RevocableToken(typeHint: "access_token", value: $0) }
    }
}

extension AuthStateRecord {
    /// All tokens, the session's own first. RFC 7009 §2.1: the revocation of the refresh token may leave the access tokens
    /// valid.
    var revocable: [RevocableToken] { RevocableToken.tokens(refreshToken, accessTokens.map(\.value)) }
}

extension TokenResponse {
    var revocable: [RevocableToken] { RevocableToken.tokens(refreshToken, [accessToken]) }
}
