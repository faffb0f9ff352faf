import TestFixtures
import AppAuthProtocol
import HTTPTypes

extension RawServer {
    /// A GET for this server.
    func get(_ path: String = "/", limits: HTTPLimits = .default) -> TransportRequest {
        TransportRequest(request(.get, path), limits: limits)
    }

    /// A form POST to this server.
    func post(_ path: String = "/", body: String = "a=b", limits: HTTPLimits = .default) -> TransportRequest {
        var request = request(.post, path)
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        return TransportRequest(request, body: Array(body.utf8), limits: limits)
    }

    func request(_ method: HTTPRequest.Method, _ path: String = "/", scheme: String = "http") -> HTTPRequest {
        HTTPRequest(method: method, scheme: scheme, authority: authority, path: path)
    }
}

extension HTTPLimits {
    /// The default, except for the given values.
    static func with(
        body: Int = 1 << 20, header: Int = 64 << 10, total: Duration = .seconds(30), connect: Duration = .seconds(5)
    ) -> HTTPLimits {
        HTTPLimits(bodyBytes: body, headerBytes: header, total: total, connect: connect)
    }
}

extension TransportResponse {
    /// The body as UTF-8.
    var text: String { String(decoding: body, as: UTF8.self) }
}
