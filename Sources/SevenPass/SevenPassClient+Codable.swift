internal import AppAuth
internal import FoundationEssentials
public import HTTPTypes

extension SevenPassClient {
    /// Sends a GET request and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``send(_:_:_:query:headers:)``; ``AuthError/Code/invalidResponse`` if the JSON has another shape.
    public func get<Value: Decodable>(
        _ path: String, query: [String: String] = [:], headers: HTTPFields = [:], as type: Value.Type
    ) async throws -> Value {
        try Self.decode(type, try await exchange(SevenPassCall(.get, path, query, headers)))
    }

    /// Sends a request with a body encoded by `JSONEncoder`, and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``get(_:query:headers:as:)``; the errors of encoding the body.
    public func send<Value: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, encoding body: some Encodable, headers: HTTPFields = [:],
        as type: Value.Type
    ) async throws -> Value {
        let call = SevenPassCall(method, path, body: try .json(encoding: body), [:], headers)
        return try Self.decode(type, try await exchange(call))
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ response: TransportResponse) throws -> Value {
        try Value.decoded(from: response.body) { unreadable($0, response) }
    }
}
