internal import AppAuth
internal import FoundationEssentials
public import HTTPTypes

extension SevenPassClient {
    /// Sends a GET request and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``send(_:_:_:)``; ``AuthError/Code/invalidResponse`` if the JSON has another shape.
    public func get<Answer: Decodable>(_ path: String, as type: Answer.Type) async throws -> Answer {
        try Self.decode(type, try await exchange(.get, path, nil))
    }

    /// Sends a request with a body encoded by `JSONEncoder`, and decodes the response with `JSONDecoder`.
    ///
    /// - Throws: As ``get(_:as:)``; the errors of encoding the body.
    public func send<Answer: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, encoding body: some Encodable, as type: Answer.Type
    ) async throws -> Answer {
        try Self.decode(type, try await exchange(method, path, Array(JSONEncoder().encode(body))))
    }

    static func decode<Answer: Decodable>(_ type: Answer.Type, _ response: TransportResponse) throws -> Answer {
        do { return try JSONDecoder().decode(type, from: Data(response.body)) } catch {
            // A decoding error may quote the user's data.
            throw unreadable("it does not decode as \(type)", response)
        }
    }
}
