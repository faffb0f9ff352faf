internal import AppAuthConcurrency
internal import FoundationEssentials

/// The provider's state. It is a value, and functions change it as a whole under the lock of the ``Store``.
struct Records: Sendable {
    var browsers: [String: Browser] = [:]
    var interactions: [String: Interaction] = [:]
    var codes: [String: AuthorizationCode] = [:]
    /// The pushed requests by their `request_uri`.
    var pushedRequests: [String: PushedRequest] = [:]
    /// The waiting devices by their device codes.
    var devices: [String: DeviceRequest] = [:]
    /// The device codes of undecided requests, by user code.
    var userCodes: [UserCode: String] = [:]
    /// The sign-ins that wait for a user's own device, by `auth_req_id`.
    var backchannel: [String: BackchannelRequest] = [:]
    var userCodeAttempts = UserCodeAttempts()
    /// The `jti` of client assertions until they expire. Each is valid once.
    var assertions: [String: Date] = [:]
    /// The same for DPoP proofs.
    var proofs: [String: Date] = [:]
    var dpopNonces = DPoPNonces()
    var grants: [String: Grant] = [:]
    var accessTokens: [String: AccessToken] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    /// The scopes that a user has granted to a client.
    var consents: [ConsentKey: Set<String>] = [:]

    struct ConsentKey: Hashable {
        let subject: String
        let clientID: String
    }

    /// The number of records at which the next pruning is worthwhile.
    private var pruneAt = 10_000

    /// Removes expired records once there are many. Used codes and refresh tokens are kept until they expire, since
    /// their second use matters.
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

/// A browser with this provider's cookie.
struct Browser: Sendable {
    let id: String
    var expiresAt: Date
    var signIn: SignIn?

    /// A user's sign-in.
    struct SignIn: Sendable, Hashable {
        let userName: String
        let subject: String
        let time: Date
        /// The authentication context (OpenID Connect Core §2).
        let acr: String
        /// The session id for clients (`sid`, OpenID Connect Back-Channel Logout §2.1).
        let sessionID: String
    }
}

typealias Store = LockedValue<Records>
