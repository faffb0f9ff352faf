internal import AppAuthProtocol

/// How the bytes of one kind of connection become a redirect, and what the peer gets as a response. It is independent
/// of sockets; a ``SocketServer`` applies it.
package protocol ConnectionRules: Sendable {
    /// A request, from its first byte on.
    associatedtype Request: Sendable

    /// Whether a redirect that waits for a caller stays valid after its peer has closed the connection.
    static var keepsAbandonedRedirects: Bool { get }

    /// Returns a request of which nothing has arrived.
    ///
    /// - Parameter isForeign: Whether a program of another user may have sent it.
    func newRequest(isForeign: Bool) -> Request

    /// Reads bytes of a request and returns the next step for it. An empty slice is the end of the input.
    mutating func read(
        _ bytes: ArraySlice<UInt8>, of request: inout Request, in phase: RedirectPhase
    ) -> ConnectionStep

    /// Returns the next step for a complete request. It is called again while the request waits.
    mutating func step(for request: Request, in phase: RedirectPhase) -> ConnectionStep

    /// Returns the response to a redirect that was matched.
    ///
    /// - Parameter isAccepted: Whether it is the awaited redirect.
    func response(to request: Request, isAccepted: Bool) -> [UInt8]

    /// Returns the response to a request that did not arrive in time, or nil to close the connection without one.
    func response(toLate request: Request) -> [UInt8]?
}

/// The next step for a request.
package enum ConnectionStep: Sendable, Hashable {
    case readMore
    /// Match the parameters of a redirect, once a caller waits for it.
    case match(_ parameters: String)
    /// Wait for the outcome.
    case wait
    case respond([UInt8])
    /// Respond to a request that has no effect, and count it. The obstacle is what the user should know of it.
    case ignore([UInt8], BrowserObstacle? = nil)
    /// Respond, and fail the caller that waits for the redirect.
    case fail([UInt8], AuthError)
    /// Respond with the page that shows the outcome.
    case page([UInt8])
    /// Close the connection without a response.
    case close
}

/// The progress of the redirect that a listener waits for. It only moves forward.
package enum RedirectPhase: Sendable, Hashable {
    /// No redirect has been accepted.
    case open
    /// A redirect was accepted. Every later one has no effect.
    case accepted
    /// The outcome is known.
    case finished(CompletionPage)

    /// Sets the outcome if a redirect was accepted and no outcome is set.
    package mutating func finish(with page: CompletionPage) {
        if self == .accepted { self = .finished(page) }
    }
}

/// Whether a connection is served.
package enum Admission: Sendable {
    case accepted
    /// A program of another user opened the connection. It is served, and is the first to be evicted.
    case foreign
    /// The connection is closed unread.
    case refused
}
