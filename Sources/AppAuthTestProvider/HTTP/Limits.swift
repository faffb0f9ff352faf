/// What a client may take.
package struct Limits: Sendable {
    /// Request line and header fields, in bytes.
    package var headBytes = 32 << 10
    /// The body of a request, in bytes.
    package var bodyBytes = 64 << 10
    /// The time from the end of one response to the end of the next request.
    package var requestTime = Duration.seconds(30)
    /// Connections at the same time; more are closed at once.
    package var connections = 1024

    package init() {}
}
