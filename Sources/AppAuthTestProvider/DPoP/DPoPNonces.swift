internal import FoundationEssentials
internal import JOSE

/// Whether proofs have to hold a nonce of the provider (RFC 9449 §8, §9).
package enum DPoPNonce: Sendable, Hashable {
    case off
    /// A nonce is given out for so many seconds, and good for as long again.
    case required(lifetime: Int = 300)

    var lifetime: Int? { if case .required(let lifetime) = self { lifetime } else { nil } }
}

/// The nonces that are good: the one that is given out, and the one before it.
struct DPoPNonces: Sendable {
    private var given: [(value: String, since: Date)] = []

    /// The nonce for the next proof: a new one when the last one is old.
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
    /// Takes no nonce any more that was given out until now: the next proof gets a challenge.
    package func forgetDPoPNonces() { context.store.withLock { $0.dpopNonces.forget() } }
}
