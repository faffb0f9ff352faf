internal import AppAuthConcurrency
internal import FoundationEssentials

/// The requirement for a nonce of the provider in proofs (RFC 9449 §8, §9).
package enum DPoPNonce: Sendable, Hashable {
    case off
    /// Proofs need a nonce. Each nonce is issued for this many seconds, and valid for as long again.
    case required(lifetime: Int = 300)

    var lifetime: Int? { if case .required(let lifetime) = self { lifetime } else { nil } }
}

/// The valid nonces: the current one and the one before it.
struct DPoPNonces: Sendable {
    private var given: [(value: String, since: Date)] = []

    /// Returns the nonce for the next proof, and makes a new one if the last one is too old.
    mutating func current(_ now: Date, lifetime: Int) throws -> String {
        drop(now, lifetime)
        if let last = given.last, now < last.since.adding(lifetime) { return last.value }
        let value = try OpaqueToken.make()
        given.append((value, now))
        return value
    }

    mutating func accepts(_ nonce: String, _ now: Date, lifetime: Int) -> Bool {
        drop(now, lifetime)
        return given.contains { $0.value == nonce }
    }

    mutating func forget() { given = [] }

    private mutating func drop(_ now: Date, _ lifetime: Int) {
        given.removeAll { now >= $0.since.adding(2 * lifetime) }
    }
}

extension LocalProvider {
    /// Invalidates all nonces issued so far: the next proof gets a challenge.
    package func forgetDPoPNonces() { context.store.withLock { $0.dpopNonces.forget() } }
}
