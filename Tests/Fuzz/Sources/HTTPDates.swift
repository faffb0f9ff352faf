internal import AppAuthProtocol
internal import AppAuthSession
internal import FoundationEssentials

/// The invariants of an HTTP date (RFC 9110 §5.6.7).
enum HTTPDates {
    private static let now = Date(timeIntervalSince1970: 1_750_000_000)
    private static let year = 31_556_952.0

    @Sendable static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        guard let date = Date(httpDate: text, now: now) else { return }
        expect(text.utf8.count <= "Wednesday, 06-Nov-94 08:49:37 GMT".utf8.count, "a date of \(text.utf8.count) bytes")
        expect(text.utf8.allSatisfy { (0x20...0x7E).contains($0) }, "a byte that no date has")
        // From 1 January of the year 1 to the end of 9999.
        expect((-62_135_596_800...253_402_300_800).contains(date.timeIntervalSince1970), "a year of five digits")
        // With two digits a year is at most 50 years ahead, and in the latest century that makes it so.
        if text.contains("-") {
            expect(abs(date.timeIntervalSince(now)) < 101 * year, "another century")
            expect(date.timeIntervalSince(now) < 51 * year, "a date more than 50 years ahead")
        }
        // Foundation has another calendar before 1583, and a leap second may end the year 9999.
        guard (-12_212_553_600..<253_402_300_800).contains(date.timeIntervalSince1970) else { return }
        expect(Date(httpDate: written(date), now: now) == date, "written and read: another date")
    }

    /// The date in the form that senders use: `Sun, 06 Nov 1994 08:49:37 GMT`.
    private static func written(_ date: Date) -> String {
        let parts = date.ISO8601Format().split { "-T:Z".contains($0) }
        let day = Int((date.timeIntervalSince1970 / 86_400).rounded(.down))
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][(day % 7 + 7) % 7]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let month = months[(Int(parts[1]) ?? 1) - 1]
        return "\(weekday), \(parts[2]) \(month) \(parts[0]) \(parts[3]):\(parts[4]):\(parts[5]) GMT"
    }
}
