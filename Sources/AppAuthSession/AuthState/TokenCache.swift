internal import AppAuthConcurrency
internal import AppAuthProtocol
internal import JOSE

/// The tokens of an ``AuthState`` and the refreshes in progress. Callers use it without waiting for one another.
final class TokenCache: Sendable {
    typealias Flight = SingleFlight<AccessToken>

    private struct State {
        var record: AuthStateRecord
        var proof: DPoP?
        var isOpen = true
        /// The refresh for callers with the default requirement: nearly all.
        let usual = Flight()
        /// Whether one of those callers has found the current token too old. Until the session changes, the others need not
        /// look at it.
        var isKnownToBeOld = false
        var others: [SessionRules.TokenRequirement.Kind: Flight] = [:]
        /// Tokens that resource servers have rejected, even if they have not expired.
        var refused: Set<Issue> = []

        mutating func other(for kind: SessionRules.TokenRequirement.Kind) -> Flight {
            if others.count > mostOthers { others = others.filter { $0.value.running != nil } }
            let flight = others[kind] ?? Flight()
            others[kind] = flight
            return flight
        }
    }

    /// A token as it was received at one time. If the provider issues the same one again, it is worth another try.
    private struct Issue: Hashable {
        let value: Secret
        let boot: String
        let sinceBoot: Duration

        init(_ token: AccessToken) {
            (value, boot, sinceBoot) = (token.value, token.received.boot, token.received.sinceBoot)
        }
    }

    private let state: LockedValue<State>
    /// If there are more flights than this, those that are over are removed.
    private static let mostOthers = 8

    init(_ record: AuthStateRecord, proof: DPoP?) { state = LockedValue(State(record: record, proof: proof)) }

    /// The proof of possession of the key that the tokens are bound to.
    var proof: DPoP? { state.withLock { $0.proof } }

    /// Sets the current session. If `isOpen` is false, callers get no token until the store is read: it has not
    /// confirmed the session, or no longer has it.
    func show(_ record: AuthStateRecord, isOpen: Bool) {
        state.withLock { state in
            (state.record, state.isOpen, state.isKnownToBeOld) = (record, isOpen, false)
            // A later sign-in has its own key. An ended session has none, and its last requests may need the old one.
            if let key = record.proofKey, key != state.proof?.key {
                state.proof = record.proof
            } else if record.proofKey == nil, record.end == nil {
                state.proof = nil
            }
            if !state.refused.isEmpty { state.refused.formIntersection(record.accessTokens.map(Issue.init)) }
        }
    }

    /// Stops returning a token to callers.
    func refuse(_ token: AccessToken) {
        state.withLock { state in
            state.refused.insert(Issue(token))
            state.isKnownToBeOld = false
        }
    }

    /// The default refresh in progress, if a caller can only join it. Thousands of callers may come while it runs, so
    /// neither the clock nor the token is read.
    var toJoin: Flight.Run? { state.withLock { $0.isKnownToBeOld ? $0.usual.running : nil } }

    enum Found {
        case ready(AccessToken)
        /// Where to begin a refresh, or to join the one in progress.
        case refresh(Flight)
    }

    /// Returns the current token if the caller accepts it, and otherwise how to get a better one. Sets `need.seen`.
    func find(for need: inout SessionRules.TokenRequirement) -> Found {
        state.withLock { state in
            need.seen = state.record.token(for: need.parameters)
            if let seen = need.seen {
                if state.refused.contains(Issue(seen)) { need.isForced = true }
                if state.isOpen, need.accepts(seen, at: need.began) { return .ready(seen) }
            }
            guard need.isUsual else { return .refresh(state.other(for: need.kind)) }
            state.isKnownToBeOld = true
            return .refresh(state.usual)
        }
    }

    var flights: [Flight] { state.withLock { [$0.usual] + $0.others.values } }
}
