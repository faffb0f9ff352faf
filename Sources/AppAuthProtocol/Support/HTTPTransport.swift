public import HTTPTypes

/// How the library talks HTTP: one method, so that an app can bring the client it has.
///
/// An implementation must not follow redirects (they would carry credentials to another host), must keep to the limits
/// of the request while it reads, and must end the transfer when its task is cancelled. It reports every status as an
/// answer; it throws only where there is no response.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns the response, whatever its status.
    ///
    /// - Throws: ``AuthError`` with the code ``AuthError/Code/transport`` or ``AuthError/Code/timeout``, whose
    ///   ``AuthError/outcome`` says whether the request may have reached the server (any other error counts as
    ///   ``AuthError/Outcome/perhapsProcessed``); `CancellationError`.
    func send(_ request: TransportRequest) async throws -> TransportResponse
}

/// A request with its body and the limits of its response.
public struct TransportRequest: Sendable {
    /// Method, scheme, authority, path and header fields.
    public var head: HTTPRequest
    /// The body; nil if the request has none.
    public var body: [UInt8]?
    /// What the response may take.
    public var limits: HTTPLimits

    /// Puts a request together.
    public init(_ head: HTTPRequest, body: [UInt8]? = nil, limits: HTTPLimits = .default) {
        (self.head, self.body, self.limits) = (head, body, limits)
    }
}

/// The limits of one HTTP exchange. Past a size the transfer ends with an error; nothing is cut short silently.
public struct HTTPLimits: Sendable, Hashable {
    /// The largest body in bytes, after decompression.
    public var bodyBytes: Int
    /// The largest header section in bytes.
    public var headerBytes: Int
    /// The time for the whole exchange, from name resolution to the last byte.
    public var total: Duration
    /// The time to connect, TLS included.
    public var connect: Duration

    /// 1 MiB of body, 64 KiB of header, 30 s in all, 5 s to connect.
    public static let `default` = HTTPLimits(
        bodyBytes: 1 << 20, headerBytes: 64 << 10, total: .seconds(30), connect: .seconds(5))

    /// As the default, with 512 KiB of body: for metadata and keys.
    public static let document = HTTPLimits(
        bodyBytes: 512 << 10, headerBytes: 64 << 10, total: .seconds(30), connect: .seconds(5))

    /// Sets each limit.
    public init(bodyBytes: Int, headerBytes: Int, total: Duration, connect: Duration) {
        (self.bodyBytes, self.headerBytes, self.total, self.connect) = (bodyBytes, headerBytes, total, connect)
    }
}

/// The response to a request: status and header fields, and the whole body.
public struct TransportResponse: Sendable {
    /// Status and header fields.
    public var head: HTTPResponse
    /// The body, decompressed.
    public var body: [UInt8]
    /// What the request held, and what no error about the response may repeat.
    var secrets: [Secret] = []

    /// Puts a response together.
    public init(_ head: HTTPResponse, body: [UInt8]) { (self.head, self.body) = (head, body) }

    /// The status of the head.
    public var status: HTTPResponse.Status { head.status }

    /// The header fields of the head.
    public var headerFields: HTTPFields {
        get { head.headerFields }
        set { head.headerFields = newValue }
    }
}
