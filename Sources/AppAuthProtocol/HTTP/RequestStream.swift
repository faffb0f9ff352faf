package import AppAuthConcurrency

/// The body of a request that is sent while it arrives, and whose response is returned when its head has arrived.
/// ``CurlTransport`` supports it.
package struct RequestStream: Sendable {
    /// The body; nil if the request has none.
    package var body: BytePipe?
    /// The size of the body in bytes, if it is known.
    package var length: Int?
    /// Whether the server is asked before the body is sent (RFC 9110 §10.1.1).
    package var expectsContinue: Bool

    package init(body: BytePipe? = nil, length: Int? = nil, expectsContinue: Bool = false) {
        (self.body, self.length, self.expectsContinue) = (body, length, expectsContinue)
    }
}

extension TransportRequest {
    /// Prepares the request to be sent once more.
    ///
    /// - Returns: Whether it can be: all of its body that was sent is kept.
    package func rewind() -> Bool { stream?.body?.rewind() ?? true }
}
