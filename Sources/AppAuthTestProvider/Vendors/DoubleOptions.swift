package import FoundationEssentials

/// How a double is served: the same for each vendor.
package struct DoubleOptions: Sendable {
    /// `127.0.0.1`, `::1` or `localhost` (bound to 127.0.0.1).
    package var host = "127.0.0.1"
    /// 0 for a free one.
    package var port = 0
    /// What the double's clock starts from.
    package var clock: @Sendable () -> Date = { Date() }
    /// Keeps every request for `log`; off for a double that runs for days.
    package var keepsLog = true
    /// Called with each request when its response is ready.
    package var observer: (@Sendable (LoggedRequest) -> Void)?

    package init() {}
}
