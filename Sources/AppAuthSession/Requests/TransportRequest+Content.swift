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
