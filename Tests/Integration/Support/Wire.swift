import AppAuth
import AppAuthCore
import HTTPTypes

/// A transport that remembers what went over it.
actor Wire: HTTPTransport {
    private var exchanges: [(sent: HTTPExchange, answer: HTTPAnswer)] = []
    private let transport = CurlTransport()

    func send(_ exchange: HTTPExchange) async throws -> HTTPAnswer {
        let answer = try await transport.send(exchange)
        exchanges.append((exchange, answer))
        return answer
    }

    /// The statuses of an endpoint's answers.
    func statuses(at path: String) -> [Int] { exchanges(at: path).map(\.answer.response.status.code) }

    /// The forms that an endpoint was sent.
    func forms(at path: String) -> [String] {
        exchanges(at: path).map { String(decoding: $0.sent.body ?? [], as: UTF8.self) }
    }

    private func exchanges(at path: String) -> [(sent: HTTPExchange, answer: HTTPAnswer)] {
        exchanges.filter { $0.sent.request.path?.hasSuffix(path) == true }
    }

    /// The real world, over this wire.
    nonisolated var environment: Environment {
        var environment = Environment.live
        environment.transport = self
        return environment
    }
}
