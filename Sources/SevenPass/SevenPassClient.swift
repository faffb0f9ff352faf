public import AppAuth
public import HTTPTypes
internal import JOSE

/// Calls of 7Pass's accounts API in the name of whoever a session belongs to.
///
/// ```swift
/// let client = try SevenPassClient(state, configuration)
/// let me = try await client.get("me")
/// try await client.post("me/optins", ["type": "sms", "accepted": true])
/// ```
/// Each call takes a valid token from the ``AuthState``, refreshed if needed, and sends it to the API alone. If the
/// server refuses it nevertheless (401 with `invalid_token`), the token is refreshed and the call is made once more.
/// Redirects are not followed. Safe to share.
public struct SevenPassClient: Sendable {
    /// Whose tokens are used.
    public let state: AuthState
    private let base: APIBase

    /// Makes a client of the configuration's API base, or of its issuer if it has none.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for a base that is no https URL (or http on
    ///   loopback), or has a query.
    public init(_ state: AuthState, _ configuration: SevenPassConfiguration) throws {
        self.state = state
        base = try APIBase(configuration.apiBase ?? configuration.issuer)
    }

    /// Sends GET; see ``send(_:_:_:)``.
    public func get(_ path: String) async throws -> JSON { try await send(.get, path) }

    /// Sends POST with JSON; see ``send(_:_:_:)``.
    @discardableResult
    public func post(_ path: String, _ body: JSON? = nil) async throws -> JSON { try await send(.post, path, body) }

    /// Sends PUT with JSON; see ``send(_:_:_:)``.
    @discardableResult
    public func put(_ path: String, _ body: JSON? = nil) async throws -> JSON { try await send(.put, path, body) }

    /// Sends PATCH with JSON; see ``send(_:_:_:)``.
    @discardableResult
    public func patch(_ path: String, _ body: JSON? = nil) async throws -> JSON { try await send(.patch, path, body) }

    /// Sends DELETE; see ``send(_:_:_:)``.
    @discardableResult
    public func delete(_ path: String) async throws -> JSON { try await send(.delete, path) }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - path: Below the API base, with a slash in front or without, percent-encoded, with a query or without. A whole
    ///     URL counts if it is below the base; another origin, or a way up out of the base, is refused, and no token is
    ///     asked for.
    ///   - body: Sent as JSON; nil sends none.
    /// - Returns: The response; null if it is empty, as that to a DELETE.
    /// - Throws: ``SevenPassError`` for any status but 2xx; ``AuthError``: ``AuthError/Code/invalidConfiguration`` for
    ///   the path, ``AuthError/Code/invalidResponse`` for a response that is no JSON, and whatever
    ///   ``AuthState/send(_:)`` throws; `CancellationError`.
    public func send(_ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil) async throws -> JSON {
        let response = try await exchange(method, path, body.map { Array($0.serialized().utf8) })
        guard !response.body.isEmpty else { return .null }
        do { return try JSON(parsing: response.body) } catch { throw Self.unreadable("\(error)", response) }
    }

    /// Makes a call, and returns a response with status 2xx that is JSON by its type, or empty.
    ///
    /// - Parameter secrets: What of the body no error may repeat.
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
            .invalidResponse, .resource, "the response of the API cannot be read: \(what)",
            httpStatus: response.status.code)
    }
}

extension TransportResponse {
    /// JSON, also of a type with the suffix (RFC 6839 §3.1).
    var isJSON: Bool { mediaType.map { $0 == "application/json" || $0.hasSuffix("+json") } ?? false }
}
