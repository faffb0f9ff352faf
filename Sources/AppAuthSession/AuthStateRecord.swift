public import AppAuthProtocol
public import FoundationEssentials
internal import JOSE

/// The part of an ``AuthState`` that is stored: a value, with rules of merging that need no I/O.
///
/// It holds tokens and may hold the client's secret: it belongs into protected stores alone.
public struct AuthStateRecord: Sendable, Hashable {
    /// Tells one sign-in from the next: random, and the same until the session ends.
    public let id: String
    /// The client, with its provider's metadata.
    public var client: Client
    /// What was granted; what was asked for, where the provider did not say (RFC 6749 §5.1).
    public private(set) var scope: [Scope]
    /// The current access token; nil after the session has ended. Apps get it from the ``AuthState``, once it is stored.
    package private(set) var accessToken: AccessToken?
    /// The current refresh token, if the provider gave one.
    package private(set) var refreshToken: Secret?
    /// The grant by which the session renews itself without a refresh token.
    package private(set) var grant: TokenGrant?
    /// What was granted in detail (RFC 9396 §7); empty where the provider did not say.
    public private(set) var authorizationDetails: [AuthorizationDetail] = []
    /// See ``additionalParameters``; a JSON object, since a server may send secrets among them.
    private var additional: Secret?
    /// The key that the tokens are bound to (RFC 9449).
    package private(set) var proofKey: DPoPKey?
    /// The latest ID token, as it came; see ``idToken``.
    private var verifiedIDToken: Secret?
    /// The nonce of the sign-in: a later ID token may repeat it (OpenID Connect Core §12.2).
    package private(set) var nonce: Secret?
    /// Where the provider sent the browser back to: sign-out uses the same place, since it is registered.
    package private(set) var redirectURI: String?
    /// The provider's keys, so that a refresh in another process need not fetch them.
    package private(set) var keys: KeySetCache.Entry?
    /// Access tokens for fewer scopes or for certain resources.
    package private(set) var otherTokens: [TokenParameters: AccessToken] = [:]
    /// The refresh token that was presented and to which no response has come yet.
    package var pendingRefresh: PendingRefresh?
    /// What kept the last refreshes from succeeding; nil after one that did.
    package private(set) var backoff: RefreshBackoff?
    /// Why and when the session ended; nil while it lasts.
    public private(set) var end: End?
    /// On its way to another store, or from one: then nobody uses it from here. See ``TokenStore/moveSession(to:)``.
    package var move: Move?

    package enum Move: Sendable, Hashable {
        case leaving(to: String)
        case arriving(from: String)
        /// It was signed out here while it was on its way: what there may be of it in the other place is over, too.
        case signedOut(at: String)
    }

    /// The end of a session.
    public struct End: Sendable, Hashable {
        /// What ended it, in one line, without secrets.
        public let reason: String
        /// When.
        public let date: Date

        package init(reason: String, date: Date) { (self.reason, self.date) = (reason.onOneLine, date) }
    }

    /// A session whose tokens an app has from somewhere else, for example from another library's store.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/unavailable`` if the system gives no random bytes.
    public init(client: Client, scope: [Scope] = [], accessToken: AccessToken?, refreshToken: Secret?) throws {
        id = try Secret(randomBytes: 16).reveal()
        (self.client, self.scope) = (client, scope)
        (self.accessToken, self.refreshToken) = (accessToken, refreshToken)
    }

    /// A session that begins: its tokens are bound to the key, if there is one.
    init(client: Client, scope: [Scope], proof: DPoP?) throws {
        try self.init(client: client, scope: scope, accessToken: nil, refreshToken: nil)
        proofKey = proof?.key
    }

    /// The session that a grant without a browser begins.
    init(client: Client, grant: TokenGrant, proof: DPoP?) throws {
        try self.init(client: client, scope: grant.scope, proof: proof)
        if grant.isRepeatable { self.grant = grant }
    }

    /// The session that a sign-in begins.
    init(request: AuthorizationRequest, response: TokenResponse, idToken: IDToken?, keys: KeySetCache.Entry?) throws {
        try self.init(client: request.client, scope: request.scope, proof: request.proof)
        (nonce, redirectURI) = (request.nonce, request.redirectURI)
        merge(response, idToken: idToken, keys: keys)
    }

    /// Whether it is a later sign-in of the same person by the same client. Without an ID token nobody can tell.
    func succeeds(_ other: AuthStateRecord) -> Bool {
        guard id != other.id, end == nil, client.id.isExactly(other.client.id),
            client.provider.issuer == other.client.provider.issuer, let subject = idToken?.subject,
            let previous = other.idToken?.subject
        else { return false }
        return subject.isExactly(previous)
    }

    /// What keeps the session from being refreshed at this time: the error of the last refresh, with ``AuthError/nextAttempt``;
    /// nil if nothing does.
    public func refreshPause(at now: Timestamp) -> AuthError? {
        guard let backoff, !backoff.pause.isOver(at: now) else { return nil }
        return backoff.pauseError(at: now)
    }

    /// When the current access token expires; nil if there is none, or if the provider did not say.
    public var accessTokenExpiresAt: Date? { accessToken?.expiresAt }

    /// Whether the provider gave a refresh token.
    public var hasRefreshToken: Bool { refreshToken != nil }

    /// Whether the session can go on without the person when the access token expires: by a refresh token, or by the
    /// client's own credentials.
    public var renewsItself: Bool { renewal != nil }

    /// What gets the next access token.
    package var renewal: SessionRules.Renewal? {
        if let grant { return .grant(grant) }
        return refreshToken.map(SessionRules.Renewal.refreshToken)
    }

    /// What else the server's response to the request for tokens had (RFC 6749 §5.1), for example `patient` or `instance_url`: of
    /// the latest response for the session's own tokens that had anything. Gone when the session ends, as the tokens are.
    public var additionalParameters: JSON.Object {
        additional.flatMap { try? JSON(parsing: $0.bytes).object } ?? JSON.Object()
    }

    /// The latest verified ID token; it stays after the end of the session, for "Welcome back, …".
    public var idToken: IDToken? { verifiedIDToken.flatMap { try? IDToken(storedAfterVerification: $0) } }

    /// Every access token, whatever it was issued for.
    var accessTokens: [AccessToken] { [accessToken].compactMap(\.self) + otherTokens.values }

    /// The token that was issued for these parameters.
    package func token(for parameters: TokenParameters) -> AccessToken? {
        parameters == .session ? accessToken : otherTokens[parameters]
    }

    /// Takes over what the token endpoint answered. What a response does not repeat stays: refresh token (RFC 6749 §6),
    /// scope (§5.1) and ID token (OpenID Connect Core §12.2).
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

    /// Takes over the rotated refresh token, if there is one: alone, from a response that cannot be used otherwise.
    mutating func merge(refreshToken rotated: Secret?) {
        // RFC 6749 §4.4.3: client credentials have no use for one.
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

    /// Has another client, or the same one with something changed, from now on.
    mutating func change(_ client: Client) {
        // Keys from elsewhere are not the provider's any more.
        let name = ProviderMetadata.Endpoint.keys.rawValue
        if client.provider.document[name] != self.client.provider.document[name] { keys = nil }
        self.client = client
    }

    /// Notes one more refresh in a row that failed.
    mutating func fail(_ error: AuthError, at now: Timestamp, jitter: Double) -> RefreshBackoff {
        let backoff = RefreshBackoff(error, after: backoff, at: now, jitter: jitter)
        self.backoff = backoff
        return backoff
    }

    /// Ends the session: no token stays, the claims do. A session that has ended stays as it ended.
    mutating func end(_ reason: String, at date: Date) {
        guard end == nil else { return }
        (accessToken, refreshToken, grant, keys, pendingRefresh, backoff) = (nil, nil, nil, nil, nil, nil)
        (otherTokens, proofKey, additional) = ([:], nil, nil)
        end = End(reason: reason, date: date)
    }

    /// What a sign-out leaves in a store: nothing, but for a session that was on its way to or from another store. What is
    /// there may be used by now if whoever moved it died, so the next call that moves it has to find that it is over.
    static func signedOut(_ record: AuthStateRecord?, at date: Date) -> AuthStateRecord? {
        guard var record else { return nil }
        switch record.move {
        case .leaving(let location), .arriving(let location): record.move = .signedOut(at: location)
        case .signedOut: break
        case nil: return nil
        }
        record.end("signed out", at: date)
        // It says that it is over, and nothing else.
        (record.verifiedIDToken, record.nonce, record.redirectURI) = (nil, nil, nil)
        record.authorizationDetails = []
        record.client = Client(id: record.client.id, provider: record.client.provider)
        return record
    }
}

extension AuthStateRecord {
    private static let format = "swift-appauth session"
    private static let version = 1

    /// The record as JSON, with dates in seconds since 1970.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` for a date that is no number of seconds.
    public func encoded() throws -> [UInt8] {
        var json: JSON.Object = [
            "format": .string(Self.format), "version": .number(.init(Self.version)), "id": .string(id),
            "client": client.stored, "scope": .array(scope.map { .string($0.rawValue) }),
        ]
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
        json["presented"] = try pendingRefresh?.stored
        json["trouble"] = try backoff?.stored
        switch move {
        case .leaving(let location): json["move"] = ["to": .string(location)]
        case .arriving(let location): json["move"] = ["from": .string(location)]
        case .signedOut(let location): json["move"] = ["over": .string(location)]
        case nil: break
        }
        json["end"] = try end.map { ["reason": .string($0.reason), "date": try JSON(storing: $0.date)] }
        return Array(JSON.object(json).serialized().utf8)
    }

    /// Reads a record.
    ///
    /// - Parameter place: Where it comes from, for the error.
    /// - Throws: ``AuthError`` with ``StoreProblem/damaged`` for anything but a whole record of a version known here.
    public init(decoding bytes: [UInt8], from location: String) throws {
        func refusal(_ why: String) -> AuthError {
            .damagedStore(location, why)
        }
        // What servers sent stands two levels deeper here.
        guard let json = try? JSON(parsing: bytes, maximumDepth: 66), json["format"]?.string == Self.format,
            let version = json["version"]?.int
        else { throw refusal("is damaged or holds something else than a session") }
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
        pendingRefresh = try json.optional("presented") { try PendingRefresh(stored: $0.object($1)) }
        backoff = try json.optional("trouble") { try RefreshBackoff(stored: $0.object($1)) }
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
