internal import FoundationEssentials
internal import JOSE

/// What Moltin has given out.
struct MoltinTokens: Sendable {
    struct Issued {
        let accessToken: String
        let refreshToken: String?
        let expiresAt: Date
    }

    private struct Records {
        /// When each access token ends.
        var accessTokens: [String: Date] = [:]
        var refreshTokens: Set<String> = []
        var codes: Set<String> = []
    }

    let lifetime: Int
    let clock: MovableClock
    private let records = LockedValue(Records())

    init(lifetime: Int, clock: MovableClock) { (self.lifetime, self.clock) = (lifetime, clock) }

    func issue(withRefreshToken: Bool) throws -> Issued {
        let access = try OpaqueToken.make()
        let refresh = withRefreshToken ? try OpaqueToken.make() : nil
        let now = clock.now
        let end = now.adding(lifetime)
        records.withLock { records in
            records.accessTokens = records.accessTokens.filter { $0.value > now }
            records.accessTokens[access] = end
            if let refresh { records.refreshTokens.insert(refresh) }
        }
        return Issued(accessToken: access, refreshToken: refresh, expiresAt: end)
    }

    func isAlive(_ token: String) -> Bool {
        let now = clock.now
        return records.withLock { $0.accessTokens[token].map { $0 > now } ?? false }
    }

    func makeCode() throws -> String {
        let code = try OpaqueToken.make()
        _ = records.withLock { $0.codes.insert(code) }
        return code
    }

    /// Whether the code was good; it is not afterwards (RFC 6749 §4.1.2).
    func spend(code: String) -> Bool { records.withLock { $0.codes.remove(code) != nil } }

    /// Whether the refresh token was good; its successor takes its place.
    func spend(refreshToken: String) -> Bool { records.withLock { $0.refreshTokens.remove(refreshToken) != nil } }

    func killAccessTokens() { records.withLock { $0.accessTokens = [:] } }
}
