internal import JOSE

/// Where callers get their tokens without waiting for one another: what an ``AuthState`` has to hand out, and the
/// refreshes that are under way.
final class TokenCounter: Sendable {
    private struct State {
        var record: AuthStateRecord
        var isStored = true
        var flights: [TokenParameters: SingleFlight<AccessToken>] = [:]
    }

    private let state: Guarded<State>

    init(_ record: AuthStateRecord) { state = Guarded(State(record: record)) }

    /// Shows what there is from now on. What the store has not confirmed is given to nobody.
    func show(_ record: AuthStateRecord, isStored: Bool) {
        state.withLock { ($0.record, $0.isStored) = (record, isStored) }
    }

    /// The token at hand if the caller accepts it, and otherwise where to wait for a better one. Notes what was seen.
    func look(for need: inout SessionRules.Need) -> (AccessToken?, SingleFlight<AccessToken>) {
        let parameters = need.parameters
        let (seen, isStored, flight) = state.withLock { state in
            let flight = state.flights[parameters] ?? SingleFlight()
            state.flights[parameters] = flight
            return (state.record.token(for: parameters), state.isStored, flight)
        }
        need.seen = seen
        guard isStored, let seen, need.accepts(seen, at: need.began) else { return (nil, flight) }
        return (seen, flight)
    }

    var flights: [SingleFlight<AccessToken>] { state.withLock { Array($0.flights.values) } }
}
