package import FoundationEssentials
internal import Glibc

extension Date {
    /// Parses an HTTP date (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, or one of the two obsolete forms that
    /// recipients must accept: `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
    package init?(httpDate text: String) { self.init(httpDate: text, now: Date()) }

    /// - Parameter now: Decides the century of a two-digit year.
    package init?(httpDate text: String, now: Date) {
        var words = text.split { " ,-".contains($0) }.map(String.init)
        // The third form has the month before the day, and the year at its end.
        if words.count == 5 { words = [words[0], words[2], words[1], words[4], words[3], "GMT"] }
        guard words.count == 6, let day = Int32(words[1]), let month = Self.months.firstIndex(of: words[2]),
            var year = Int(words[3]), (0...9999).contains(year)
        else { return nil }
        let clock = words[4].split(separator: ":").compactMap { Int($0) }
        // A second of 60 is a leap second.
        guard clock.count == 3, clock[0] < 24, clock[1] < 60, clock[2] <= 60 else { return nil }
        if year < 100 {
            // §5.6.7: if it appears to be more than 50 years ahead, it is in the past century.
            let current = 1970 + Int(now.timeIntervalSince1970 / 31_556_952)
            year += current / 100 * 100
            if year > current + 50 { year -= 100 }
        }
        var midnight = tm()
        (midnight.tm_mday, midnight.tm_mon, midnight.tm_year) = (day, Int32(month), Int32(year - 1900))
        let seconds = timegm(&midnight)
        // A day that the month does not have counts as one of the next month. For all else, the date is written again.
        guard midnight.tm_mday == day else { return nil }
        let (weekday, time) = (Self.weekdays[Int(midnight.tm_wday)], clock.map(Self.twoDigits).joined(separator: ":"))
        let forms = [
            "\(weekday.prefix(3)), \(Self.twoDigits(Int(day))) \(words[2]) \(year) \(time) GMT",
            "\(weekday), \(Self.twoDigits(Int(day)))-\(words[2])-\(Self.twoDigits(year % 100)) \(time) GMT",
            "\(weekday.prefix(3)) \(words[2]) \(day < 10 ? " " : "")\(day) \(time) \(year)",
        ]
        guard forms.contains(text) else { return nil }
        self.init(timeIntervalSince1970: Double(seconds + (clock[0] * 60 + clock[1]) * 60 + clock[2]))
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
