package import FoundationEssentials
internal import JOSE

extension Date {
    /// Parses an HTTP date (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, or one of the two obsolete forms that
    /// recipients must accept: `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    package init?(httpDate text: String) { self.init(httpDate: text, now: Date()) }

    /// - Parameter now: Decides the century of a two-digit year.
    package init?(httpDate text: String, now: Date) {
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        let parts: HTTPDateParts?
        switch fields.count {
        case 6 where fields[5] == "GMT":
            parts = HTTPDateParts(fields[0], fields[1], fields[2], year: fields[3], fields[4])
        case 6 where fields[2].isEmpty && fields[3].utf8.count == 1:
            parts = HTTPDateParts(fields[0] + ",", "0" + fields[3], fields[1], year: fields[5], fields[4])
        case 5:
            parts = HTTPDateParts(fields[0] + ",", fields[2], fields[1], year: fields[4], fields[3])
        case 4 where fields[3] == "GMT":
            let date = fields[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3 else { return nil }
            parts = HTTPDateParts(fields[0], date[0], date[1], shortYear: date[2], fields[2], now: now)
        default: return nil
        }
        guard let parts else { return nil }
        self.init(timeIntervalSince1970: Double(parts.days * 86_400 + parts.seconds))
    }
}

private struct HTTPDateParts {
    /// The days since 1970.
    let days: Int
    /// The seconds since midnight.
    let seconds: Int

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    /// The weekdays, beginning with that of 1 January 1970.
    private static let weekdays = ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"]

    init?(_ weekday: Substring, _ day: Substring, _ month: Substring, year: Substring, _ time: Substring) {
        guard let year = Self.number(year, digits: 4), year > 0 else { return nil }
        self.init(weekday, day, month, year, time, weekdayCount: 3)
    }

    /// If a two-digit year appears to be more than 50 years ahead, it is in the past century (RFC 9110 §5.6.7).
    init?(
        _ weekday: Substring, _ day: Substring, _ month: Substring, shortYear: Substring, _ time: Substring, now: Date
    ) {
        guard let digits = Self.number(shortYear, digits: 2) else { return nil }
        let current = 1970 + Int(now.timeIntervalSince1970 / 31_556_952)
        let year = current / 100 * 100 + digits
        self.init(weekday, day, month, year > current + 50 ? year - 100 : year, time, weekdayCount: nil)
    }

    private init?(
        _ weekday: Substring, _ day: Substring, _ month: Substring, _ year: Int, _ time: Substring, weekdayCount: Int?
    ) {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        // A second of 60 is a leap second.
        guard let month = Self.months.firstIndex(of: String(month)), let day = Self.number(day, digits: 2), day > 0,
            clock.count == 3, let hour = Self.number(clock[0], digits: 2), hour < 24,
            let minute = Self.number(clock[1], digits: 2), minute < 60,
            let second = Self.number(clock[2], digits: 2), second <= 60
        else { return nil }
        days = Self.days(year: year, month: month + 1, day: day)
        seconds = (hour * 60 + minute) * 60 + second
        // A day that the month does not have would count as one of the next month.
        let next = month == 11 ? (year + 1, 1) : (year, month + 2)
        guard days < Self.days(year: next.0, month: next.1, day: 1) else { return nil }
        let name = Self.weekdays[(days % 7 + 7) % 7]
        guard weekday == name.prefix(weekdayCount ?? name.count) + "," else { return nil }
    }

    private static func number(_ text: Substring, digits: Int) -> Int? {
        guard text.utf8.count == digits, text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int(text)
    }

    /// Returns the days since 1970 of a Gregorian date. The year begins in March, so that a leap day is its last day.
    private static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = (shifted / 400, shifted % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
