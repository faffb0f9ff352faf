internal import FoundationEssentials
package import HTTPTypes
internal import JOSE

/// The clocks of the servers that have answered in an environment and its copies, by their host and port.
package final class ServerClocks: Sendable {
    private let clocks = LockedValue<[String: ServerClock]>([:])
    private static let most = 64
    /// After that the servers' clocks, and ours, may have been set.
    private static let longest: Duration = .seconds(86_400)

    package init() {}

    package func note(_ response: TransportResponse, to request: HTTPRequest, at now: Timestamp) {
        guard let authority = request.authority, let clock = ServerClock(response, received: now) else { return }
        clocks.withLock { clocks in
            if clocks.count >= Self.most, clocks[authority] == nil,
                let oldest = clocks.min(by: { $0.value.received.sinceBoot < $1.value.received.sinceBoot })?.key
            {
                clocks[oldest] = nil
            }
            clocks[authority] = clock
        }
    }

    /// The clock by which a client's provider writes: that of its token endpoint, or else of whatever of it has answered
    /// within a day. Its keys come last, since they may lie elsewhere.
    package func clock(of client: Client, at now: Timestamp) -> ServerClock? {
        let locations = [
            client[.token], client.provider.issuer.url, client[.pushedAuthorizationRequest], client[.authorization],
            client[.keys],
        ]
        let known = clocks.withLock { $0 }
        return locations.lazy.compactMap { $0.flatMap { known[$0.authority] } }
            .first { clock in clock.received.elapsed(until: now).map { $0 <= Self.longest } ?? false }
    }
}

extension Environment {
    /// The time by which what a client's provider writes is judged, and whose it is: the provider's own, if it has told it
    /// and is to be believed.
    func time(of client: Client) -> (date: Date, clock: String) {
        let now = now()
        return serverClocks.clock(of: client, at: now)?.time(at: now) ?? (now.wall, "this machine's clock")
    }
}
