/// The limits of the listener's connections. Tests shorten the times.
package struct ListenerLimits: Sendable {
    /// The largest request head in bytes. Programs on all ports of a host get the same cookies.
    package var headBytes = 128 << 10
    /// The largest form of a `response_mode=form_post` in bytes.
    package var formBytes = 16 << 10
    /// The time for a request to arrive, measured from the connection, and for a response to be sent.
    package var requestTime = Duration.seconds(5)
    /// The time for the peer to read its response and close.
    package var farewellTime = Duration.seconds(1)
    /// The time for the browser to ask for the last page, measured from the outcome.
    package var pageTime = Duration.seconds(1)
    /// The time for the last page if the caller's task is cancelled. It suffices for a browser that is already waiting.
    package var hurriedPageTime = Duration.milliseconds(50)
    /// The number of open connections. A further one evicts the least valuable, and the oldest of several equal ones.
    package var connections = 64
    /// The number of connections that the kernel queues until the listener accepts them.
    package var backlog: Int32 = 1024

    package init() {}
}
