package import FoundationEssentials
internal import HTTPTypes

/// A server's clock, read from the `Date` field of one of its answers (RFC 9110 §6.6.1), and running on by the time
/// since boot: what is written by that clock, the times of an ID token, is judged by it.
package struct ServerClock: Sendable, Hashable {
    /// What the server's clock said when the answer came.
    package let date: Date
    /// When that was, here.
    package let received: Moment

    /// Further apart are no two clocks that are merely wrong by an hour or a time zone: then nobody can say which of them
    /// is right, and neither is believed.
    package static let largestSkew: Duration = .seconds(86_400)

    package init(date: Date, received: Moment) { (self.date, self.received) = (date, received) }

    /// The clock of an answer, if it says its time. What comes out of a cache says when it went in (RFC 9111 §5.1).
    init?(_ answer: HTTPAnswer, received: Moment) {
        guard ["0", nil].contains(answer.response.headerFields[.age]) else { return nil }
        guard let text = answer.response.headerFields[.date], let date = Date(httpDate: text) else { return nil }
        self.init(date: date, received: received)
    }

    /// How far it is ahead of this machine's clock, in seconds.
    package var skew: TimeInterval { date.timeIntervalSince(received.wall) }

    /// Whether it is near enough to be believed.
    package var isPlausible: Bool { abs(skew) <= Self.largestSkew.seconds }

    /// The server's time at a later moment; nil if nobody can tell.
    package func date(at moment: Moment) -> Date? { received.elapsed(until: moment).map { date + $0.seconds } }

    /// The server's time at a later moment, and whose it is; nil if it is not to be believed.
    func time(at moment: Moment) -> (date: Date, clock: String)? {
        guard isPlausible, let date = date(at: moment) else { return nil }
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

extension Date {
    /// Reads the preferred form of an HTTP date, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7). The two obsolete ones,
    /// which no server has sent for decades, are not read.
    package init?(httpDate text: String) {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0].count == 4, parts[0].last == ",", parts[5] == "GMT",
            let day = Self.number(parts[1], digits: 2), let month = Self.months.firstIndex(of: String(parts[2])),
            let year = Self.number(parts[3], digits: 4), case let clock = parts[4].split(separator: ":"),
            clock.count == 3, let hour = Self.number(clock[0], digits: 2),
            let minute = Self.number(clock[1], digits: 2),
            let second = Self.number(clock[2], digits: 2), (1...31).contains(day), hour < 24, minute < 60, second < 61
        else { return nil }
        let days = Self.days(year: year, month: month + 1, day: day)
        self.init(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func number(_ text: Substring, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Days since 1970 of a date of the Gregorian calendar, counted from March so that a leap day is a year's last.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = (shifted / 400, shifted % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
