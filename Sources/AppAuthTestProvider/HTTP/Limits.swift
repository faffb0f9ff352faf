/// The limits for clients.
package struct Limits: Sendable {
    /// The size of the request line and the header fields, in bytes.
    package var headBytes = 32 << 10
    /// The size of a request body, in bytes.
    package var bodyBytes = 64 << 10
    /// The time from the end of one response to the end of the next request.
    package var requestTime = Duration.seconds(30)
    /// The number of simultaneous connections. Further ones are closed at once.
    package var connections = 1024

    package init() {}
}
