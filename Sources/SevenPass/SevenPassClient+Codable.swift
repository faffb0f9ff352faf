internal import AppAuth
internal import FoundationEssentials
public import HTTPTypes

extension SevenPassClient {
    /// Sends a GET request and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``send(_:_:_:)``; ``AuthError/Code/invalidResponse`` if the JSON has another shape.
    public func get<Value: Decodable>(_ path: String, as type: Value.Type) async throws -> Value {
        try Self.decode(type, try await exchange(.get, path, nil))
    }

    /// Sends a request with a body encoded by `JSONEncoder`, and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``get(_:as:)``; the errors of encoding the body.
    public func send<Value: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, encoding body: some Encodable, as type: Value.Type
    ) async throws -> Value {
        try Self.decode(type, try await exchange(method, path, Array(JSONEncoder().encode(body))))
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ response: TransportResponse) throws -> Value {
        try Value.decoded(from: response.body) { unreadable($0, response) }
    }
}
