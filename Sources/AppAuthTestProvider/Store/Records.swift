internal import FoundationEssentials
internal import JOSE

/// Everything that the provider remembers. A value: what changes it are plain functions, each done as a whole under
/// the lock of the ``Store``.
struct Records: Sendable {
    var browsers: [String: Browser] = [:]
    var interactions: [String: Interaction] = [:]
    var codes: [String: AuthorizationCode] = [:]
    /// By their `request_uri`.
    var pushedRequests: [String: PushedRequest] = [:]
    /// The devices that wait, by their device codes.
    var devices: [String: DeviceRequest] = [:]
    /// The device codes of those that nobody has decided on.
    var userCodes: [UserCode: String] = [:]
    /// The sign-ins that wait for somebody's own device, by `auth_req_id`.
    var backchannel: [String: BackchannelRequest] = [:]
    var userCodeAttempts = UserCodeAttempts()
    /// The `jti` of client assertions, until they expire: each is good once.
    var assertions: [String: Date] = [:]
    /// The same of DPoP proofs.
    var proofs: [String: Date] = [:]
    var dpopNonces = DPoPNonces()
    var grants: [String: Grant] = [:]
    var accessTokens: [String: AccessToken] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    /// The scopes that a person has agreed to for a client.
    var consents: [ConsentKey: Set<String>] = [:]

    struct ConsentKey: Hashable {
        let subject: String
        let clientID: String
    }

    /// The number of records at which the next look for old ones is worth its time.
    private var pruneAt = 10_000

    /// Forgets what is over once there is much of it. Used codes and refresh tokens are kept until they expire, since
    /// their second use has a meaning.
    mutating func prune(_ now: Date) {
        guard count > pruneAt else { return }
        browsers = browsers.filter { $0.value.expiresAt > now }
        interactions = interactions.filter { $0.value.expiresAt > now }
        codes = codes.filter { $0.value.expiresAt > now }
        pushedRequests = pushedRequests.filter { $0.value.expiresAt > now }
        devices = devices.filter { $0.value.expiresAt > now }
        backchannel = backchannel.filter { $0.value.expiresAt > now }
        assertions = assertions.filter { $0.value > now }
        proofs = proofs.filter { $0.value > now }
        userCodes = userCodes.filter { devices[$0.value] != nil }
        accessTokens = accessTokens.filter { $0.value.expiresAt > now }
        refreshTokens = refreshTokens.filter { $0.value.expiresAt > now }
        let used = Set(accessTokens.values.map(\.grantID) + refreshTokens.values.map(\.grantID))
            .union(codes.values.map(\.grant.id))
        grants = grants.filter { used.contains($0.key) }
        pruneAt = max(10_000, 2 * count)
    }

    private var count: Int {
        browsers.count + interactions.count + codes.count + pushedRequests.count + devices.count + backchannel.count
            + assertions.count
            + proofs.count + accessTokens.count + refreshTokens.count
    }
}

/// A browser that holds this provider's cookie.
struct Browser: Sendable {
    let id: String
    var expiresAt: Date
    var signIn: SignIn?

    /// Who signed in, when and how.
    struct SignIn: Sendable {
        let userName: String
        let subject: String
        let time: Date
        /// How (OpenID Connect Core §2).
        let acr: String
        /// What clients know the session by (`sid`, OpenID Connect Back-Channel Logout §2.1).
        let sessionID: String
    }
}

typealias Store = LockedValue<Records>
