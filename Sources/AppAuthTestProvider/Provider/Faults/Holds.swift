internal import AppAuthConcurrency

/// The holds of each endpoint.
final class Holds: Sendable {
    private let holds = LockedValue<[Endpoint: [Hold]]>([:])

    func add(_ hold: Hold, at endpoint: Endpoint) { holds.withLock { $0[endpoint, default: []].append(hold) } }

    func pass(_ endpoint: Endpoint, _ point: Hold.Point) async throws {
        let holds = holds.withLock { $0[endpoint] ?? [] }
        for hold in holds where hold.point == point { try await hold.pass() }
    }
}
