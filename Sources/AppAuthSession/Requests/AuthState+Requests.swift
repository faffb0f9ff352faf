public import AppAuthProtocol
internal import FoundationEssentials
internal import HTTPTypes

extension AuthState {
    /// Sends a GET with a valid access token; see ``send(_:)``.
    ///
    /// ```swift
    /// let user = try await state.get("https://api.example/me").decoded(as: User.self)
    /// ```
    public nonisolated func get(_ url: String) async throws -> TransportResponse {
        try await send(TransportRequest(.get, url))
    }

    /// Sends a POST with a valid access token and a JSON body; see ``send(_:)``.
    public nonisolated func post(_ url: String, json body: some Encodable) async throws -> TransportResponse {
        try await send(TransportRequest(.post, url, .json(encoding: body)))
    }
}

extension TransportResponse {
    /// Decodes the JSON body of a successful response.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidResponse`` if the status is not 2xx or the body cannot be
    ///   decoded; ``AuthError/httpStatus`` has the status.
    public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        func failure(_ message: String) -> AuthError {
            AuthError(.invalidResponse, .resource, message, httpStatus: status.code)
        }
        guard status.kind == .successful else {
            throw failure("expected a successful status of the resource server, found \(status.code)")
        }
        return try Value.decoded(from: body) { failure("the response of the resource server: \($0)") }
    }
}
