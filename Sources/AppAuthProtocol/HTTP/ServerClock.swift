package import FoundationEssentials
internal import HTTPTypes

/// A server's clock, read from the `Date` field of a response (RFC 9110 §6.6.1) and advanced by the time since boot.
/// Times that the server wrote, such as those of an ID token, are compared with this clock.
package struct ServerClock: Sendable, Hashable {
    /// The server's time when the response arrived.
    package let date: Date
    /// This machine's time when the response arrived.
    package let received: Timestamp

    /// The largest plausible difference. A wrong hour or time zone explains less; beyond it, neither clock is known to
    /// be right, and the server's is not used.
    package static let largestSkew: Duration = .seconds(86_400)

    package init(date: Date, received: Timestamp) { (self.date, self.received) = (date, received) }

    /// Reads the clock of a response, if it has a `Date`. A cached response has the date of its storage (RFC 9111 §5.1)
    /// and does not count.
    init?(_ response: TransportResponse, received: Timestamp) {
        guard ["0", nil].contains(response.headerFields[.age]) else { return nil }
        guard let text = response.headerFields[.date], let date = Date(httpDate: text) else { return nil }
        self.init(date: date, received: received)
    }

    /// How far the clock is ahead of this machine's, in seconds.
    package var skew: TimeInterval { date.timeIntervalSince(received.wall) }

    /// Whether the difference is small enough to trust the clock.
    package var isPlausible: Bool { abs(skew) <= Self.largestSkew.seconds }

    /// Returns the server's time at a later time; nil if it cannot be determined.
    package func date(at timestamp: Timestamp) -> Date? { received.elapsed(until: timestamp).map { date + $0.seconds } }

    /// Returns the server's time at a later time, and whose clock it is; nil if it is unknown or implausible.
    func time(at timestamp: Timestamp) -> (date: Date, clock: String)? {
        guard isPlausible, let date = date(at: timestamp) else { return nil }
        return (date, "the provider’s clock")
    }

    /// The difference of the two clocks, for messages.
    package var skewDescription: String {
        let seconds = Int(skew.rounded())
        return abs(seconds) < 2
            ? "the provider’s clock agrees with this computer’s"
            : "the provider’s clock is \(abs(seconds)) s \(seconds > 0 ? "ahead of" : "behind") this computer’s. "
                + "Check this computer’s clock (timedatectl)"
    }
}
