internal import AppAuthProtocol
internal import JOSE

/// Where callers get their tokens without waiting for one another: what an ``AuthState`` has to hand out, and the
/// refreshes that are under way.
final class TokenCache: Sendable {
    typealias Flight = SingleFlight<AccessToken>

    private struct State {
        var record: AuthStateRecord
        var proof: DPoP?
        var isOpen = true
        /// The flight of those who have no special wishes: nearly all.
        let usual = Flight()
        /// Whether one of them has found the token that is shown too old. It gets no younger.
        var isStale = false
        var others: [SessionRules.TokenRequirement.Kind: Flight] = [:]
        /// Tokens that resource servers have refused, whatever their dates say.
        var refused: Set<Issue> = []

        mutating func other(for kind: SessionRules.TokenRequirement.Kind) -> Flight {
            if others.count > mostOthers { others = others.filter { $0.value.running != nil } }
            let flight = others[kind] ?? Flight()
            others[kind] = flight
            return flight
        }
    }

    /// A token as it was received once: a provider may give out the same one again, and then it is worth another try.
    private struct Issue: Hashable {
        let value: Secret
        let boot: String
        let sinceBoot: Duration

        init(_ token: AccessToken) {
            (value, boot, sinceBoot) = (token.value, token.received.boot, token.received.sinceBoot)
        }
    }

    private let state: LockedValue<State>
    /// More flights than this are not kept once they are over.
    private static let mostOthers = 8

    init(_ record: AuthStateRecord, proof: DPoP?) { state = LockedValue(State(record: record, proof: proof)) }

    /// Proves the possession of the key that the tokens are bound to.
    var proof: DPoP? { state.withLock { $0.proof } }

    /// Shows what there is from now on. Where it is not open, nobody gets anything without a look into the store: it has
    /// not confirmed what there is, or has it no longer.
    func show(_ record: AuthStateRecord, isOpen: Bool) {
        state.withLock { state in
            (state.record, state.isOpen, state.isStale) = (record, isOpen, false)
            // A later sign-in has a key of its own. What has ended has none any more, and its last requests may need one.
            if let key = record.proofKey, key != state.proof?.key {
                state.proof = DPoP(key: key)
            } else if record.proofKey == nil, record.end == nil {
                state.proof = nil
            }
            if !state.refused.isEmpty { state.refused.formIntersection(record.accessTokens.map(Issue.init)) }
        }
    }

    /// Hands a token out no more.
    func refuse(_ token: AccessToken) {
        state.withLock { state in
            state.refused.insert(Issue(token))
            state.isStale = false
        }
    }

    /// The refresh that is under way for those who have no special wishes, if all that is left to them is to join it.
    /// Thousands may come while it runs: neither a clock nor the token is looked at.
    var toJoin: Flight.Run? { state.withLock { $0.isStale ? $0.usual.running : nil } }

    enum Find {
        case ready(AccessToken)
        /// A refresh that is under way.
        case toJoin(Flight.Run)
        /// None is: where to begin one.
        case toBegin(Flight)
    }

    /// The token at hand if the caller accepts it, and otherwise how to get a better one. Notes what was seen.
    func look(for need: inout SessionRules.TokenRequirement) -> Find {
        state.withLock { state in
            need.seen = state.record.token(for: need.parameters)
            if let seen = need.seen {
                if state.refused.contains(Issue(seen)) { need.isForced = true }
                if state.isOpen, need.accepts(seen, at: need.began) { return .ready(seen) }
            }
            let flight: Flight
            if need.isUsual {
                state.isStale = true
                flight = state.usual
            } else {
                flight = state.other(for: need.kind)
            }
            return flight.running.map(Find.toJoin) ?? .toBegin(flight)
        }
    }

    var flights: [Flight] { state.withLock { [$0.usual] + $0.others.values } }
}
