internal import AppAuthConcurrency
internal import FoundationEssentials
package import HTTPTypes

/// The clocks of the servers that have responded, by host and port. An environment shares them with its copies.
package final class ServerClocks: Sendable {
    private let clocks = LockedValue<[String: ServerClock]>([:])
    private static let most = 64
    /// After a day, either clock may have been set.
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

    /// Returns the first clock of these servers that was read within the last day.
    package func clock(ofAny authorities: some Sequence<String>, at now: Timestamp) -> ServerClock? {
        let known = clocks.withLock { $0 }
        return authorities.lazy.compactMap { known[$0] }
            .first { clock in clock.received.elapsed(until: now).map { $0 <= Self.longest } ?? false }
    }
}
