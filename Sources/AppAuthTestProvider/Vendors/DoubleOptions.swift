package import FoundationEssentials

/// The options of a double, the same for each vendor.
package struct DoubleOptions: Sendable {
    /// The host: `127.0.0.1`, `::1` or `localhost` (bound to 127.0.0.1).
    package var host = "127.0.0.1"
    /// The port; 0 for a free one.
    package var port = 0
    /// The certificate files for HTTPS; nil for plain HTTP.
    package var tls: TLSFiles?
    /// The base of the double's clock.
    package var clock: @Sendable () -> Date = { Date() }
    /// Whether every request is kept for `log`. Turn it off for a double that runs for days.
    package var keepsLog = true
    /// Called with each request when its response is ready.
    package var observer: (@Sendable (LoggedRequest) -> Void)?

    package init() {}
}
