internal import AppAuth
internal import FoundationEssentials
public import HTTPTypes

extension SevenPassClient {
    /// Sends a GET request and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``send(_:_:_:query:headers:)``; ``AuthError/Code/invalidResponse`` if the JSON has another shape.
    public func get<Answer: Decodable>(
        _ path: String, query: [String: String] = [:], headers: HTTPFields = [:], as type: Answer.Type
    ) async throws -> Answer {
        try Self.decode(type, try await exchange(SevenPassCall(.get, path, query, headers)))
    }

    /// Sends a request with a body encoded by `JSONEncoder`, and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``get(_:query:headers:as:)``; the errors of encoding the body.
    public func send<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, encoding body: some Encodable, headers: HTTPFields = [:],
        as type: Answer.Type
    ) async throws -> Answer {
        let body = SevenPassCall.Body(json: Array(try JSONEncoder().encode(body)))
        return try Self.decode(type, try await exchange(SevenPassCall(method, path, body: body, [:], headers)))
    }

    static func decode<Answer: Decodable>(_ type: Answer.Type, _ response: TransportResponse) throws -> Answer {
        try Answer.decoded(from: response.body) { unreadable($0, response) }
    }
}
