import AppAuth
import AppAuthProtocol
import HTTPTypes

/// A transport that records its requests and responses.
actor Wire: HTTPTransport {
    private var exchanges: [(sent: TransportRequest, response: TransportResponse)] = []
    private let transport = CurlTransport()

    func send(_ exchange: TransportRequest) async throws -> TransportResponse {
        let response = try await transport.send(exchange)
        exchanges.append((exchange, response))
        return response
    }

    /// The statuses of an endpoint's responses.
    func statuses(at path: String) -> [Int] { exchanges(at: path).map(\.response.status.code) }

    /// The forms that an endpoint was sent.
    func forms(at path: String) -> [String] {
        exchanges(at: path).map { String(decoding: $0.sent.body ?? [], as: UTF8.self) }
    }

    private func exchanges(at path: String) -> [(sent: TransportRequest, response: TransportResponse)] {
        exchanges.filter { $0.sent.head.path?.hasSuffix(path) == true }
    }

    /// The real world, over this wire.
    nonisolated var environment: Environment {
        var environment = Environment.live
        environment.transport = self
        return environment
    }
}
