internal import FoundationEssentials

extension Date {
    /// The date in the format of a `Date` field: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    package var httpDate: String {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.weekday, .day, .month, .year, .hour, .minute, .second], from: self)
        func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][(parts.weekday ?? 1) - 1]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let date = "\(two(parts.day)) \(months[(parts.month ?? 1) - 1]) \(parts.year ?? 1970)"
        return "\(day), \(date) \(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }
}
