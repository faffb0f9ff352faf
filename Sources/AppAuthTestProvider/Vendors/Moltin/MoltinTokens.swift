internal import AppAuthConcurrency
internal import FoundationEssentials

/// The tokens and codes that Moltin has issued.
struct MoltinTokens: Sendable {
    struct Issued {
        let accessToken: String
        let refreshToken: String?
        let expiresAt: Date
    }

    private struct Records {
        /// The end of each access token.
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

    /// Uses up a code (RFC 6749 §4.1.2). Returns whether it was valid.
    func spend(code: String) -> Bool { records.withLock { $0.codes.remove(code) != nil } }

    /// Uses up a refresh token. Returns whether it was valid.
    func spend(refreshToken: String) -> Bool { records.withLock { $0.refreshTokens.remove(refreshToken) != nil } }

    func killAccessTokens() { records.withLock { $0.accessTokens = [:] } }
}
