internal import AppAuth
internal import AppAuthProtocol
internal import HTTPTypes

/// The HTTP client for the provider's own requests, which do not leave this machine.
struct LoopbackClient: Sendable {
    private let transport: CurlTransport

    /// - Parameter roots: The PEM file of the trusted certificates; nil for the system's.
    init(roots: String? = nil) { transport = CurlTransport(.init(roots: roots.map { .files([$0]) } ?? .system)) }

    /// Fetches a document, without following redirects.
    ///
    /// - Parameter limit: The size of the largest document in bytes.
    /// - Throws: ``ProviderError`` if the URL is not on loopback; `AuthError`.
    func get(_ url: String, atMost limit: Int) async throws -> TransportResponse {
        try await send(HTTPRequest(method: .get, url: target(url)), atMost: limit)
    }

    /// Posts a form once.
    ///
    /// - Throws: As ``get(_:atMost:)``.
    func post(_ form: String, to url: String) async throws {
        var head = try HTTPRequest(method: .post, url: target(url))
        head.headerFields[.contentType] = "application/x-www-form-urlencoded"
        _ = try await send(head, body: Array(form.utf8))
    }

    private func send(
        _ head: HTTPRequest, body: [UInt8]? = nil, atMost limit: Int = 64 << 10
    ) async throws -> TransportResponse {
        let limits = HTTPLimits(bodyBytes: limit, headerBytes: 64 << 10, total: .seconds(5), connect: .seconds(5))
        return try await transport.send(TransportRequest(head, body: body, limits: limits))
    }

    private func target(_ text: String) throws -> SecureURL {
        let url = try SecureURL(text)
        guard url.isLoopback else { throw ProviderError("expected a URL on loopback, found \(url.origin)") }
        return url
    }
}
