public import HTTPTypes

/// The response to a request: status, header fields and the whole body.
public struct TransportResponse: Sendable, Hashable {
    /// Status and header fields.
    public var head: HTTPResponse
    /// The body, decompressed.
    public var body: [UInt8]
    /// The secrets of the request, which no error about the response may repeat.
    package var secrets: [Secret] = []
    /// The body, if the request had a ``TransportRequest/stream``. ``body`` is empty then.
    package var stream: ResponseStream?

    /// Creates a response.
    public init(_ head: HTTPResponse, body: [UInt8]) { (self.head, self.body) = (head, body) }

    /// The status of the head.
    public var status: HTTPResponse.Status { head.status }

    /// The header fields of the head.
    public var headerFields: HTTPFields {
        get { head.headerFields }
        set { head.headerFields = newValue }
    }
}
