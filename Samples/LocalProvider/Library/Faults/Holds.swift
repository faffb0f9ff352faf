internal import JOSE

/// The holds of each endpoint.
final class Holds: Sendable {
    private let holds = Guarded<[Endpoint: [Hold]]>([:])

    func add(_ hold: Hold, at endpoint: Endpoint) { holds.withLock { $0[endpoint, default: []].append(hold) } }

    func pass(_ endpoint: Endpoint, _ moment: Hold.Moment) async throws {
        let holds = holds.withLock { $0[endpoint] ?? [] }
        for hold in holds where hold.moment == moment { try await hold.pass() }
    }
}
