internal import JOSE

/// Parks the requests of an endpoint until they are released, so that a test can act while they are under way.
///
/// ```swift
/// let hold = provider.hold(.token)
/// async let refreshed = state.freshAccessToken()
/// try await hold.arrived()          // the request is there and was processed, the response is not out yet
/// hold.release()
/// ```
package final class Hold: Sendable {
    package enum Point: Sendable {
        /// Before the request is acted on.
        case request
        /// After the request was acted on and before the response goes out.
        case response
    }

    let timestamp: Point
    private let arrivals = Tally()
    private let releases = Tally()

    init(_ timestamp: Point) { self.timestamp = timestamp }

    /// How many requests have come to the hold.
    package var count: Int { arrivals.count }

    /// Returns once so many requests in all have come to the hold.
    package func arrived(_ count: Int = 1) async throws { try await arrivals.reaches(count) }

    /// Lets everything go on; later requests pass.
    package func release() { releases.add() }

    /// Lets the request pass when the hold is released.
    func pass() async throws {
        arrivals.add()
        try await releases.reaches(1)
    }
}
