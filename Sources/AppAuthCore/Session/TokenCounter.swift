internal import JOSE

/// Where callers get their tokens without waiting for one another: what an ``AuthState`` has to hand out, and the
/// refreshes that are under way.
final class TokenCounter: Sendable {
    private typealias Flight = SingleFlight<AccessToken>

    private struct State {
        var record: AuthStateRecord
        var isOpen = true
        var flights: [SessionRules.Need.Kind: Flight] = [:]
        /// Tokens that resource servers have refused, whatever their dates say.
        var refused: Set<Secret> = []
    }

    private let state: Guarded<State>
    /// More flights than this are not kept once they are over.
    private static let mostFlights = 8

    init(_ record: AuthStateRecord) { state = Guarded(State(record: record)) }

    /// Shows what there is from now on. Where it is not open, nobody gets anything without a look into the store: it has
    /// not confirmed what there is, or has it no longer.
    func show(_ record: AuthStateRecord, isOpen: Bool) {
        state.withLock { state in
            (state.record, state.isOpen) = (record, isOpen)
            if !state.refused.isEmpty { state.refused.formIntersection(record.accessTokens) }
        }
    }

    /// Hands a token out no more.
    func refuse(_ token: Secret) { state.withLock { _ = $0.refused.insert(token) } }

    enum Find {
        case ready(AccessToken)
        case toWaitFor(SingleFlight<AccessToken>)
    }

    /// The token at hand if the caller accepts it, and otherwise where to wait for a better one. Notes what was seen.
    func look(for need: inout SessionRules.Need) -> Find {
        let isOpen = state.withLock { state in
            need.seen = state.record.token(for: need.parameters)
            if let seen = need.seen, state.refused.contains(seen.value) { need.isForced = true }
            return state.isOpen
        }
        if isOpen, let seen = need.seen, need.accepts(seen, at: need.began) { return .ready(seen) }
        let kind = need.kind
        return state.withLock { state in
            if state.flights.count > Self.mostFlights { state.flights = state.flights.filter(\.value.isRunning) }
            let flight = state.flights[kind] ?? Flight()
            state.flights[kind] = flight
            return .toWaitFor(flight)
        }
    }

    var flights: [SingleFlight<AccessToken>] { state.withLock { Array($0.flights.values) } }
}
