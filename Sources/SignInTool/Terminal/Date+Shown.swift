internal import FoundationEssentials
internal import Glibc

extension Date {
    /// The local date and time in words, for display: `3 December 2026, 14:30`.
    var shown: String {
        var (seconds, parts) = (time_t(timeIntervalSince1970.rounded(.down)), tm())
        var text = [CChar](repeating: 0, count: 64)
        guard localtime_r(&seconds, &parts) != nil, strftime(&text, text.count, "%-d %B %Y, %H:%M", &parts) > 0 else {
            return ISO8601Format()
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
