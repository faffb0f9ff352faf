internal import AppAuthConcurrency
internal import FoundationEssentials

/// The access tokens that the bank has issued, and the end of each.
struct SbankenTokens: Sendable {
    let lifetime: Int
    let clock: MovableClock
    private let ends = LockedValue<[String: Date]>([:])

    init(lifetime: Int, clock: MovableClock) { (self.lifetime, self.clock) = (lifetime, clock) }

    func issue() throws -> String {
        let (token, now) = (try OpaqueToken.make(), clock.now)
        ends.withLock { ends in
            ends = ends.filter { $0.value > now }
            ends[token] = now.adding(lifetime)
        }
        return token
    }

    func isAlive(_ token: String) -> Bool {
        let now = clock.now
        return ends.withLock { $0[token].map { $0 > now } ?? false }
    }

    func killAll() { ends.withLock { $0 = [:] } }
}
