public import HTTPTypes

/// An HTTP client. It has a single method, so that an app can use the client that it already has.
///
/// An implementation must not follow redirects, which would carry credentials to another host. It must enforce the
/// limits of the request while it reads, and must end the transfer when its task is cancelled. It must not send a request
/// again unless ``TransportRequest/mayBeRepeated`` is true. It returns a response for every status, and throws only if
/// there is no response.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns the response, even with an error status.
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
    /// The limits of the response.
    public var limits: HTTPLimits
    /// If the bodies are passed on while they arrive, the request's. ``body`` is nil then.
    package var stream: RequestStream?
    /// Whether the token that authorizes the request may be used up by it.
    package var usesUpItsToken = false

    /// Whether the request may be sent again if its connection breaks before the response: the method is idempotent (RFC
    /// 9110 §9.2.2), and the server issues no new token in place of the request's (RFC 7592 §2.1, §2.2).
    public var mayBeRepeated: Bool {
        !usesUpItsToken && stream?.body == nil && [.get, .head, .options, .trace, .put, .delete].contains(head.method)
    }

    /// Creates a request.
    public init(_ head: HTTPRequest, body: [UInt8]? = nil, limits: HTTPLimits = .default) {
        (self.head, self.body, self.limits) = (head, body, limits)
    }
}

/// The limits of one HTTP exchange. If a transfer exceeds one, it fails with an error; nothing is truncated silently.
public struct HTTPLimits: Sendable, Hashable {
    /// The largest body in bytes, after decompression.
    public var bodyBytes: Int
    /// The largest header section in bytes.
    public var headerBytes: Int
    /// The time for the whole exchange, from name resolution to the last byte.
    public var total: Duration
    /// The time to connect, including TLS.
    public var connect: Duration

    /// 1 MiB of body, 64 KiB of header, 30 s in total, 15 s to connect: glibc asks the next name server after 5 s.
    public static let `default` = HTTPLimits(
        bodyBytes: 1 << 20, headerBytes: 64 << 10, total: .seconds(30), connect: .seconds(15))

    /// The default limits with 512 KiB of body, for metadata and keys.
    public static let document = HTTPLimits(
        bodyBytes: 512 << 10, headerBytes: 64 << 10, total: .seconds(30), connect: .seconds(15))

    /// Creates limits.
    public init(bodyBytes: Int, headerBytes: Int, total: Duration, connect: Duration) {
        (self.bodyBytes, self.headerBytes, self.total, self.connect) = (bodyBytes, headerBytes, total, connect)
    }
}
