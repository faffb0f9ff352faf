public import AppAuth
public import HTTPTypes
internal import JOSE

/// A client of 7Pass's accounts API that acts for the user of a session.
///
/// ```swift
/// let client = try SevenPassClient(state, configuration)
/// let me = try await client.get("me", query: ["fields": "email"])
/// try await client.post("me/optins", ["type": "sms", "accepted": true])
/// ```
/// Each call gets a valid token from the ``AuthState``, which refreshes it if necessary, and sends it only to the API.
/// If the server still rejects the token (401 with `invalid_token`), it is refreshed and the call is made once more.
/// Redirects are not followed. The client is safe to share.
///
/// Every call accepts header fields, and a query in its path. A body is JSON, or a form with `form:`. With a client
/// secret, each call carries `appsecret_proof` in its query, as the older SDK's calls do: the access token's
/// HMAC-SHA256 with the secret in hexadecimal, which is assumed.
public struct SevenPassClient: Sendable {
    /// The session whose tokens the client uses.
    public let state: AuthState
    private let base: APIBase
    private let secret: Secret?
    private let serviceID: String?

    /// Creates a client for the configuration's API base, or for its issuer if it has none.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the base is not an https URL (or http on
    ///   loopback), or has a query.
    public init(_ state: AuthState, _ configuration: SevenPassConfiguration) throws {
        try self.init(
            state, configuration, base: configuration.apiBase ?? configuration.issuer.string, configuration.serviceID)
    }

    init(_ state: AuthState, _ configuration: SevenPassConfiguration, base: String, _ serviceID: String?) throws {
        (self.state, self.serviceID, secret) = (state, serviceID, configuration.clientSecret)
        self.base = try APIBase(base)
    }

    /// Sends a GET request; see ``send(_:_:_:query:headers:)``.
    public func get(_ path: String, query: [String: String] = [:], headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.get, path, query: query, headers: headers)
    }

    /// Sends a POST request with JSON; see ``send(_:_:_:query:headers:)``.
    @discardableResult
    public func post(_ path: String, _ body: JSON? = nil, headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.post, path, body, headers: headers)
    }

    /// Sends a POST request with a form; see ``send(_:_:form:query:headers:)``.
    @discardableResult
    public func post(_ path: String, form: [String: String], headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.post, path, form: form, headers: headers)
    }

    /// Sends a PUT request with JSON; see ``send(_:_:_:query:headers:)``.
    @discardableResult
    public func put(_ path: String, _ body: JSON? = nil, headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.put, path, body, headers: headers)
    }

    /// Sends a PUT request with a form; see ``send(_:_:form:query:headers:)``.
    @discardableResult
    public func put(_ path: String, form: [String: String], headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.put, path, form: form, headers: headers)
    }

    /// Sends a PATCH request with JSON; see ``send(_:_:_:query:headers:)``.
    @discardableResult
    public func patch(_ path: String, _ body: JSON? = nil, headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.patch, path, body, headers: headers)
    }

    /// Sends a PATCH request with a form; see ``send(_:_:form:query:headers:)``.
    @discardableResult
    public func patch(_ path: String, form: [String: String], headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.patch, path, form: form, headers: headers)
    }

    /// Sends a DELETE request; see ``send(_:_:_:query:headers:)``.
    @discardableResult
    public func delete(_ path: String, query: [String: String] = [:], headers: HTTPFields = [:]) async throws -> JSON {
        try await send(.delete, path, query: query, headers: headers)
    }

    /// Sends a request to the API.
    ///
    /// - Parameters:
    ///   - path: A percent-encoded path below the API base, with or without a leading slash, and with or without a
    ///     query; or an absolute URL below the base. Another origin, or a path that leads out of the base, is rejected
    ///     before a token is requested.
    ///   - body: The body, sent as JSON; nil sends none.
    ///   - query: Parameters that are added to the query.
    ///   - headers: Header fields. The client's own `Authorization` replaces one among them.
    /// - Returns: The response; null if it is empty, as after a DELETE.
    /// - Throws: ``SevenPassError`` for any status other than 2xx; ``AuthError``:
    ///   ``AuthError/Code/invalidConfiguration`` for the path, ``AuthError/Code/invalidResponse`` for a response that
    ///   is not JSON, and the errors of ``AuthState/send(_:)``; `CancellationError`.
    public func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSON? = nil, query: [String: String] = [:],
        headers: HTTPFields = [:]
    ) async throws -> JSON {
        try await json(SevenPassCall(method, path, body: body.map(TransportRequest.Content.json), query, headers))
    }

    /// Sends a request whose body is a form (`application/x-www-form-urlencoded`); otherwise as
    /// ``send(_:_:_:query:headers:)``.
    public func send(
        _ method: HTTPRequest.Method, _ path: String, form: [String: String], query: [String: String] = [:],
        headers: HTTPFields = [:]
    ) async throws -> JSON {
        try await json(SevenPassCall(method, path, body: .form(FormParameters(form)), query, headers))
    }

    private func json(_ call: SevenPassCall) async throws -> JSON {
        let response = try await exchange(call)
        guard !response.body.isEmpty else { return .null }
        do { return try response.parsedBody } catch { throw Self.unreadable("\(error)", response) }
    }

    /// Sends a request and returns a 2xx response whose type is JSON, or whose body is empty.
    ///
    /// - Parameter secrets: The parts of the body that no error may repeat.
    func exchange(_ call: SevenPassCall, hiding secrets: [Secret] = []) async throws -> TransportResponse {
        let response = try await send(call)
        guard response.status.kind == .successful else {
            throw SevenPassError(response, hiding: secrets + [await state.record.accessToken?.value].compactMap(\.self))
        }
        guard response.body.isEmpty || response.isJSON else {
            throw Self.unreadable("expected application/json, found \(response.mediaType ?? "no type")", response)
        }
        return response
    }

    private func send(_ call: SevenPassCall) async throws -> TransportResponse {
        let url = try base.url(of: call.path)
        return try await state.send { token in
            try call.request(at: url, serviceID: serviceID, proof: secret.map(token.proof))
        }
    }

    static func unreadable(_ what: String, _ response: TransportResponse) -> AuthError {
        AuthError(
            .invalidResponse, .resource, "the API response cannot be read: \(what)",
            httpStatus: response.status.code)
    }
}

extension AccessToken {
    /// The HMAC-SHA256 of the token with the client's secret, in hexadecimal.
    fileprivate func proof(by secret: Secret) -> String {
        Digest.sha256.hmac(key: Array(secret.reveal().utf8), Array(value.reveal().utf8)).map { byte in
            let digits = String(byte, radix: 16)
            return digits.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

extension TransportResponse {
    /// Whether the media type is JSON, or has its suffix (RFC 6839 §3.1).
    var isJSON: Bool { mediaType.map { $0 == "application/json" || $0.hasSuffix("+json") } ?? false }
}
