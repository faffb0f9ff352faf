internal import Foundation
public import FoundationNetworking
internal import HTTPTypes

/// An HTTP transport that uses `URLSession`, for apps that must send every request through it: because of a proxy, a
/// `URLProtocol` or other settings of a configuration. Any other app should use ``CurlTransport``.
///
/// ```swift
/// let configuration = URLSessionConfiguration.ephemeral
/// configuration.connectionProxyDictionary = ["HTTPSEnable": 1, "HTTPSProxy": "proxy.example", "HTTPSPort": 3128]
/// var environment = Environment.live
/// environment.transport = URLSessionTransport(configuration: configuration)
/// ```
/// The transport follows no redirects, limits size and duration of a response, and sends a request that may not
/// be repeated over a connection of its own, at most once. A transport without a configuration keeps no cookies.
///
/// `URLSession` on Linux cannot do some of what ``CurlTransport`` does:
/// - A response that is too large is an error, but megabytes more may have arrived by then. The size of the header is
///   checked only at the end.
/// - The limit for connecting has no effect, only the one for the whole exchange.
/// - A URL with an IPv6 address is refused.
/// - It trusts only the system's certificates: neither other roots nor a client certificate (RFC 8705) can be set.
/// - It uses the proxy in `http_proxy` even for loopback hosts, so sign-ins with a provider on this machine may fail.
/// - Repeated header fields arrive as one.
/// - It adds a `User-Agent` that names the program and libcurl.
/// - It needs several times the processor time of libcurl, and four times the time for the first request.
public final class URLSessionTransport: HTTPTransport {
    private let configuration: URLSessionConfiguration?
    private let session: LimitedURLSession

    /// Creates a transport.
    ///
    /// - Parameter configuration: The configuration of its `URLSession`s; nil means one that keeps neither cookies nor
    ///   responses.
    public init(configuration: URLSessionConfiguration? = nil) {
        self.configuration = configuration
        session = LimitedURLSession(configuration)
    }

    /// Sends a request and returns the response, even with an error status.
    ///
    /// - Throws: ``AuthError``: ``AuthError/Code/transport`` or ``AuthError/Code/timeout``;
    ///   ``AuthError/Code/invalidResponse`` for a response that is too large; ``AuthError/Code/invalidConfiguration`` for
    ///   a URL that `URLSession` cannot use; `CancellationError`.
    public func send(_ request: TransportRequest) async throws -> TransportResponse {
        try Task.checkCancellation()
        let urlRequest = try URLRequest(request)
        // On a kept connection that turns out to be closed, URLSession sends even a POST once more.
        let session = request.mayBeRepeated ? session : LimitedURLSession(configuration)
        var response = try await session.send(urlRequest, limits: request.limits).transportResponse
        let bytes = response.headerFields.reduce(0) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4 }
        guard bytes <= request.limits.headerBytes else {
            throw AuthError(
                .invalidResponse, .resource,
                "expected a header of at most \(request.limits.headerBytes) bytes, found a larger one",
                outcome: .perhapsProcessed)
        }
        // The body is decompressed.
        (response.headerFields[.contentEncoding], response.headerFields[.contentLength]) = (nil, nil)
        return response
    }
}

extension URLRequest {
    /// Creates the request that is to be sent.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration``.
    fileprivate init(_ request: TransportRequest) throws {
        func refusal(_ why: String) -> AuthError {
            AuthError(.invalidConfiguration, .resource, why)
        }
        let (head, path) = (request.head, request.head.path ?? "")
        let text = "\(head.scheme ?? "")://\(head.authority ?? "")\(path.isEmpty ? "/" : path)"
        guard ["http", "https"].contains(head.scheme?.lowercased()), path.isEmpty || path.hasPrefix("/"),
            let url = URL(string: text, encodingInvalidCharacters: false), url.user() == nil, url.fragment() == nil
        else { throw refusal("expected an http or https URL without user information and fragment, found another") }
        guard head.authority?.hasPrefix("[") == false else {
            throw refusal(
                "URLSession on Linux cannot use a URL with an IPv6 address. Use CurlTransport, or a host name")
        }
        self.init(url: url)
        httpMethod = head.method.rawValue
        httpBody = request.body.map { Data($0) }
        for field in head.headerFields { addValue(field.value, forHTTPHeaderField: field.name.rawName) }
    }
}
