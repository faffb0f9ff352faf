internal import JOSE

extension LocalProvider {
    /// A hold that parks the requests of an endpoint until they are released, so that a test can act in the meantime.
    ///
    /// ```swift
    /// let hold = provider.hold(.token)
    /// async let refreshed = state.freshAccessToken()
    /// try await hold.arrived()          // the request was processed, the response is not out yet
    /// hold.release()
    /// ```
    public final class Hold: Sendable {
        /// The point at which requests are parked.
        public enum Point: Sendable {
            /// Before the request is processed.
            case request
            /// After the request was processed, and before the response is sent.
            case response
        }

        let point: Point
        private let arrivals = Tally()
        private let releases = Tally()

        init(_ point: Point) { self.point = point }

        /// The number of requests that have reached the hold.
        public var count: Int { arrivals.count }

        /// Waits until this many requests in all have reached the hold.
        ///
        /// - Throws: An error with the number of requests that came within the limit; `CancellationError`.
        public func arrived(_ count: Int = 1, within limit: Duration = .seconds(60)) async throws {
            try await arrivals.reaches(count, within: limit)
        }

        /// Releases all requests. Later requests pass.
        public func release() { releases.add() }

        /// Parks the request until the hold is released.
        func pass() async throws {
            arrivals.add()
            try await releases.reaches(1)
        }
    }
}
