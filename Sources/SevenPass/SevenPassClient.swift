public import AppAuth
public import HTTPTypes
internal import JOSE

/// A client of 7Pass's accounts API that acts for the user of a session.
///
/// ```swift
/// let client = try SevenPassClient(state, configuration)
/// let me = try await client.get("me")
/// try await client.post("me/optins", ["type": "sms", "accepted": true])
/// ```
/// Each call gets a valid token from the ``AuthState``, which refreshes it if necessary, and sends it only to the API.
/// If the server still rejects the token (401 with `invalid_token`), it is refreshed and the call is made once more.
/// Redirects are not followed. The client is safe to share.
public struct SevenPassClient: Sendable {
    /// The session whose tokens the client uses.
    public let state: AuthState
    private let base: APIBase

    /// Creates a client for the configuration's API base, or for its issuer if it has none.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the base is not an https URL (or http on
    ///   loopback), or has a query.
    public init(_ state: AuthState, _ configuration: SevenPassConfiguration) throws {
        self.state = state
        base = try APIBase(configuration.apiBase ?? configuration.issuer)
    }

    /// Sends a GET request; see ``send(_:_:_:)``.
    public func get(_ path: String) async throws -> JSON { try await send(.get, path) }

    /// Sends a POST request with JSON; see ``send(_:_:_:)``.
    @discardableResult
    public func post(_ path: String, _ body: JSON? = nil) async throws -> JSON { try await send(.post, path, body) }

    /// Sends a PUT request with JSON; see ``send(_:_:_:)``.
    @discardableResult
    public func put(_ path: String, _ body: JSON? = nil) async throws -> JSON { try await send(.put, path, body) }

    /// Sends a PATCH request with JSON; see ``send(_:_:_:)``.
    @discardableResult
    public func patch(_ path: String, _ body: JSON? = nil) async throws -> JSON { try await send(.patch, path, body) }

    /// Sends a DELETE request; see ``send(_:_:_:)``.
    @discardableResult
    public func delete(_ path: String) async throws -> JSON { try await send(.delete, path) }

    /// Sends a request to the API.
    ///
    /// - Parameters:
    ///   - path: A percent-encoded path below the API base, with or without a leading slash, and with or without a
    ///     query; or an absolute URL below the base. Another origin, or a path that leads out of the base, is rejected
    ///     before a token is requested.
    ///   - body: The body, sent as JSON; nil sends none.
    /// - Returns: The response; null if it is empty, as after a DELETE.
    /// - Throws: ``SevenPassError`` for any status other than 2xx; ``AuthError``:
    ///   ``AuthError/Code/invalidConfiguration`` for the path, ``AuthError/Code/invalidResponse`` for a response that
    ///   is not JSON, and the errors of ``AuthState/send(_:)``; `CancellationError`.
    public func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let response = try await exchange(method, path, body.map { Array($0.serialized().utf8) })
        guard !response.body.isEmpty else { return .null }
        do { return try JSON(parsing: response.body) } catch { throw Self.unreadable("\(error)", response) }
    }

    /// Sends a request and returns a 2xx response whose type is JSON, or whose body is empty.
    ///
    /// - Parameter secrets: The parts of the body that no error may repeat.
    func exchange(
        _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8]?, hiding secrets: [Secret] = []
    ) async throws -> TransportResponse {
        var request = HTTPRequest(method: method, url: try base.url(of: path))
        request.headerFields[.accept] = "application/json"
        if body != nil { request.headerFields[.contentType] = "application/json" }
        let response = try await state.send(TransportRequest(request, body: body))
        guard response.status.kind == .successful else {
            throw SevenPassError(response, hiding: secrets + [await state.record.accessToken?.value].compactMap(\.self))
        }
        guard response.body.isEmpty || response.isJSON else {
            throw Self.unreadable("expected application/json, found \(response.mediaType ?? "no type")", response)
        }
        return response
    }

    static func unreadable(_ what: String, _ response: TransportResponse) -> AuthError {
        AuthError(
            .invalidResponse, .resource, "the API response cannot be read: \(what)",
            httpStatus: response.status.code)
    }
}

extension TransportResponse {
    /// Whether the media type is JSON, or has its suffix (RFC 6839 §3.1).
    var isJSON: Bool { mediaType.map { $0 == "application/json" || $0.hasSuffix("+json") } ?? false }
}
