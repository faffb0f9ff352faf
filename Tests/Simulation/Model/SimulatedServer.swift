import AppAuthProtocol
import HTTPTypes

/// An authorization server in virtual time. It rotates refresh tokens, and ends the grant when a used one comes back.
final class SimulatedServer {
    struct Manner {
        var rotates = true
        /// How long a used refresh token is still accepted, in milliseconds; nil if it is not.
        var grace: Int?
        /// The lifetime of an access token, in seconds.
        var lifetime = 3600
        /// Whether the response is `invalid_grant` if the server rejects what one caller requests.
        var blamesGrant = false
        /// When a session ends after its sign-in, in milliseconds, which each response announces; nil if never.
        var sessionLength: Int?
    }

    /// A fault that keeps the server from its work for a while.
    enum Trouble: CaseIterable {
        case internalError, unavailable, unavailableWithRetryAfter, tooManyRequests, tooManyRequestsWithRetryAfter
        case invalidClient, temporarilyUnavailable, htmlPage, invalidGrantWithStatus503
    }

    /// A fault of the server's ID tokens for a while.
    enum IDTokens { case fine, unverified, refused, foreign }

    enum Response {
        case tokens(access: String, refresh: String?, endsIn: Int?)
        case http(TransportResponse)
    }

    /// Where the successor of a used refresh token is.
    enum Fate: Equatable {
        case underway
        /// In the memory of a process.
        case received(process: Int)
        case stored
        /// Lost with its response, or with the process that had it.
        case lost
    }

    final class Grant {
        enum End: Equatable {
            /// An administrator or a sign-out has revoked the grant.
            case revoked
            /// The provider has announced it.
            case announced
            /// A used refresh token came back. This is excused if no process could have known better.
            case reuse(excused: Bool)
        }

        let number: Int
        /// When it ends; nil if never.
        let endsAt: Int?
        fileprivate(set) var current: String
        /// The used tokens, each with the locks under which it was sent.
        fileprivate var used: [String: (at: Int, successor: String, locks: [SimulatedStore.Lock])] = [:]
        fileprivate var count = 0
        fileprivate(set) var end: End?

        fileprivate init(number: Int, endsAt: Int?) {
            (self.number, self.endsAt, current) = (number, endsAt, "rt-\(number).0")
        }
    }

    var manner = Manner()
    var trouble: (Trouble, until: Int)?
    var idTokens: (IDTokens, until: Int) = (.fine, 0)
    /// Whether it has sent an ID token that must be refused.
    var hasSentWrongIDToken = false
    /// The grants, in the order of their numbers. A token contains the number after `rt-`.
    private(set) var grants: [Grant] = []
    var fates: [String: Fate] = [:]
    private(set) var refreshes = 0

    func signIn(at now: Int) -> (grant: Grant, access: String) {
        let grant = Grant(number: grants.count + 1, endsAt: manner.sessionLength.map { now + $0 })
        grants.append(grant)
        fates[grant.current] = .stored
        return (grant, "at-\(grant.number).0")
    }

    func grant(of token: String) -> Grant? {
        let number = token.split(separator: "-").last?.split(separator: ".").first.flatMap { Int($0) }
        return number.flatMap { grants.indices.contains($0 - 1) ? grants[$0 - 1] : nil }
    }

    func revoke(_ token: String) {
        guard let grant = grant(of: token), grant.end == nil else { return }
        grant.end = .revoked
    }

    /// Returns the response to a request that arrives now.
    func response(_ request: SimulatedRequest, at now: Int) -> Response {
        if let (trouble, until) = trouble, now < until { return .http(trouble.response(until: until, now)) }
        guard request.kind != .ungranted else {
            return manner.blamesGrant ? .error("invalid_grant", saying: "invalid_scope") : .error("invalid_scope")
        }
        guard let grant = grant(of: request.refreshToken), grant.end == nil else { return .error("invalid_grant") }
        if let end = grant.endsAt, now >= end {
            grant.end = .announced
            return .error("invalid_grant")
        }
        let endsIn = grant.endsAt.map { ($0 - now) / 1000 }
        let use = grant.used[request.refreshToken]
        if let use {
            guard let grace = manner.grace, now - use.at <= grace, use.successor == grant.current else {
                // A holder that has lost its lock cannot tell the next one what it has sent until it has stored it.
                let isUnknown = use.locks.contains(where: \.isExcused) && fates[use.successor] != .stored
                let isLate = isUnknown || request.lock?.isExcused ?? false
                grant.end = .reuse(
                    excused: request.isAbandoned || request.isDuplicated || isLate || fates[use.successor] == .lost)
                return .error("invalid_grant")
            }
        }
        refreshes += 1
        grant.count += 1
        let access = "at-\(grant.number).\(grant.count)"
        guard manner.rotates else { return .tokens(access: access, refresh: nil, endsIn: endsIn) }
        // In the grace period, the response to a used token has its existing successor.
        if use == nil {
            let successor = "rt-\(grant.number).\(grant.count)"
            grant.used[grant.current] = (now, successor, [])
            grant.current = successor
        }
        if let lock = request.lock { grant.used[request.refreshToken]?.locks.append(lock) }
        if fates[grant.current] != .stored { fates[grant.current] = .underway }
        return .tokens(access: access, refresh: grant.current, endsIn: endsIn)
    }
}

extension SimulatedServer.Response {
    static func error(_ code: String, saying description: String = "") -> Self {
        let body = #"{"error":"\#(code)","error_description":"\#(description)"}"#
        return .http(SimulatedServer.page(400, "application/json", body))
    }
}

extension SimulatedServer {
    static func page(_ status: Int, _ type: String, _ body: String, retryAfter: Int? = nil)
        -> TransportResponse
    {
        var response = HTTPResponse(status: .init(code: status), headerFields: [.contentType: type])
        response.headerFields[.retryAfter] = retryAfter.map { "\($0)" }
        return TransportResponse(response, body: Array(body.utf8))
    }
}

extension SimulatedServer.Trouble {
    fileprivate func response(until end: Int, _ now: Int) -> TransportResponse {
        func page(_ status: Int, retryAfter: Int? = nil) -> TransportResponse {
            SimulatedServer.page(status, "text/html", "<p>Sorry", retryAfter: retryAfter)
        }
        func error(_ status: Int, _ code: String) -> TransportResponse {
            SimulatedServer.page(status, "application/json", #"{"error":"\#(code)"}"#)
        }
        let wish = min((end - now) / 1000 + 1, 3600)
        return switch self {
        case .internalError: page(500)
        case .unavailable: page(503)
        case .unavailableWithRetryAfter: page(503, retryAfter: wish)
        case .tooManyRequests: page(429)
        case .tooManyRequestsWithRetryAfter: page(429, retryAfter: wish)
        case .invalidClient: error(401, "invalid_client")
        case .temporarilyUnavailable: error(400, "temporarily_unavailable")
        // A captive portal, or a proxy with its own page.
        case .htmlPage: page(200)
        case .invalidGrantWithStatus503: error(503, "invalid_grant")
        }
    }
}
