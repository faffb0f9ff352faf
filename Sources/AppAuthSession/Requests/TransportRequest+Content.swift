public import AppAuthProtocol
internal import FoundationEssentials
public import HTTPTypes
public import JOSE

extension TransportRequest {
    /// The body of a request to an API, with its media type.
    public struct Content: Sendable {
        package let type: String
        package let bytes: [UInt8]

        /// A JSON value.
        public static func json(_ value: JSON) -> Content {
            Content(type: "application/json", bytes: Array(value.serialized().utf8))
        }

        /// A value that `JSONEncoder` encodes.
        public static func json(encoding value: some Encodable) throws -> Content {
            Content(type: "application/json", bytes: Array(try JSONEncoder().encode(value)))
        }

        /// A form (`application/x-www-form-urlencoded`).
        public static func form(_ form: FormParameters) -> Content {
            Content(type: "application/x-www-form-urlencoded", bytes: Array(form.encoded.utf8))
        }
    }

    /// Creates a request to an API that responds with JSON.
    ///
    /// ```swift
    /// let request = try TransportRequest(.put, "https://api.example.org/v1/me", .json(["nickname": "Al"]))
    /// ```
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the URL is not an https URL, or an http URL
    ///   on loopback.
    public init(_ method: HTTPRequest.Method, _ url: String, _ content: Content? = nil) throws {
        var head = HTTPRequest(method: method, url: try SecureURL(url))
        head.headerFields[.accept] = "application/json"
        head.headerFields[.contentType] = content?.type
        self.init(head, body: content?.bytes)
    }
}

extension TransportResponse {
    /// Decodes the JSON body of a successful response.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/response`` if the status is not 2xx, as `AuthState.get(_:)` does, or if
    ///   the body cannot be decoded (``AuthError/Code/invalidResponse``).
    public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        guard status.kind == .successful else { throw apiError() }
        return try Value.decoded(from: body) { message in
            var error = AuthError(
                .invalidResponse, .resource, "the response of the API: \(message)", httpStatus: status.code)
            error.response = self
            return error
        }
    }
}
