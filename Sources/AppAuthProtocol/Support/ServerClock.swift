package import FoundationEssentials
internal import HTTPTypes

/// A server's clock, read from the `Date` field of one of its responses (RFC 9110 §6.6.1), and running on by the time
/// since boot: what is written by that clock, the times of an ID token, is judged by it.
package struct ServerClock: Sendable, Hashable {
    /// What the server's clock said when the response came.
    package let date: Date
    /// When that was, here.
    package let received: Timestamp

    /// Further apart are no two clocks that are merely wrong by an hour or a time zone: then nobody can say which of them
    /// is right, and neither is believed.
    package static let largestSkew: Duration = .seconds(86_400)

    package init(date: Date, received: Timestamp) { (self.date, self.received) = (date, received) }

    /// The clock of a response, if it says its time. What comes out of a cache says when it went in (RFC 9111 §5.1).
    init?(_ response: TransportResponse, received: Timestamp) {
        guard ["0", nil].contains(response.headerFields[.age]) else { return nil }
        guard let text = response.headerFields[.date], let date = Date(httpDate: text) else { return nil }
        self.init(date: date, received: received)
    }

    /// How far it is ahead of this machine's clock, in seconds.
    package var skew: TimeInterval { date.timeIntervalSince(received.wall) }

    /// Whether it is near enough to be believed.
    package var isPlausible: Bool { abs(skew) <= Self.largestSkew.seconds }

    /// The server's time at a later moment; nil if nobody can tell.
    package func date(at timestamp: Timestamp) -> Date? { received.elapsed(until: timestamp).map { date + $0.seconds } }

    /// The server's time at a later moment, and whose it is; nil if it is not to be believed.
    func time(at timestamp: Timestamp) -> (date: Date, clock: String)? {
        guard isPlausible, let date = date(at: timestamp) else { return nil }
        return (date, "the clock of the provider itself")
    }

    /// For messages: how far the two clocks are apart.
    package var skewDescription: String {
        let seconds = Int(skew.rounded())
        return abs(seconds) < 2
            ? "the provider's clock agrees with this machine's"
            : "the provider's clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") this machine's"
    }
}
