/// What a connection may take. Tests shorten the times.
package struct ListenerLimits: Sendable {
    /// The largest request head in bytes.
    package var headBytes = 16 << 10
    /// The largest form of a `response_mode=form_post` in bytes.
    package var formBytes = 16 << 10
    /// The time for a request to come, from the connection on; and for a response to go.
    package var requestTime = Duration.seconds(5)
    /// The time for the other side to read its response and close.
    package var farewellTime = Duration.seconds(1)
    /// The time for the browser to fetch and read the last page, from its outcome on.
    package var pageTime = Duration.seconds(1)
    /// The same where the caller's task is cancelled: enough for a browser that is there already.
    package var hurriedPageTime = Duration.milliseconds(50)
    /// Connections at a time; a new one pushes out the oldest that is of least use.
    package var connections = 64
    /// Connections that the kernel keeps until we take them.
    package var backlog: Int32 = 1024

    package init() {}
}
