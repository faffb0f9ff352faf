public import AppAuthProtocol
internal import HTTPTypes

extension AuthState {
    /// Sends a request with a valid access token in its `Authorization` field (RFC 6750 §2.1), and returns the
    /// response, even with an error status.
    ///
    /// If the response is a 401 with `invalid_token`, or one that ``Dialect/refusesToken`` treats in the same way, the
    /// token is refreshed and the request is sent once more, with its body. So it is after a 401 without a reason, if the
    /// server has not said when the token expires. Redirects are not followed, since they could send the token to another
    /// host.
    ///
    /// - Parameter request: A request to an https URL, or to http on loopback. Send a token only to its own servers.
    /// - Throws: ``AuthError``, as ``freshAccessToken(minimumValidity:forceRefresh:parameters:)`` and the transport do;
    ///   ``AuthError/Code/invalidConfiguration`` for a URL that must not get a token; `CancellationError`.
    public nonisolated func send(_ request: TransportRequest) async throws -> TransportResponse {
        try await send(request, stage: .resource)
    }

    /// Sends a GET with a valid access token, as ``send(_:)`` does, and returns the response if its status is 2xx.
    ///
    /// - Throws: ``AuthError``, as ``send(_:)`` does. For any other status, ``AuthError/response`` is the response, and
    ///   the message has what the API says about the error.
    public nonisolated func get(_ url: String) async throws -> TransportResponse {
        try await success(of: TransportRequest(.get, url))
    }

    /// Sends a GET, as ``get(_:)`` does, and decodes the JSON of the response.
    ///
    /// ```swift
    /// let user = try await state.get("https://api.example/me", as: User.self)
    /// ```
    ///
    /// - Throws: As ``get(_:)``; ``AuthError/Code/invalidResponse`` if the JSON has another shape.
    public nonisolated func get<Value: Decodable>(_ url: String, as type: Value.Type) async throws -> Value {
        try await get(url).decoded(as: type)
    }

    /// Sends a POST with a valid access token and a JSON body, and returns the response if its status is 2xx.
    ///
    /// - Throws: As ``get(_:)``; the errors of encoding the body.
    @discardableResult
    public nonisolated func post(_ url: String, json body: some Encodable) async throws -> TransportResponse {
        try await success(of: TransportRequest(.post, url, .json(encoding: body)))
    }

    private nonisolated func success(of request: TransportRequest) async throws -> TransportResponse {
        let response = try await send(request)
        guard response.status.kind == .successful else { throw response.apiError(to: request.head) }
        return response
    }

    /// Sends a request with another token of this session: an exchanged one, or one for other parameters. A token that
    /// is bound to the session's key is valid only with the key's proof (RFC 9449 §7.1).
    ///
    /// Nothing is refreshed: a 401 is a response like any other.
    ///
    /// - Parameters:
    ///   - request: A request, as for ``send(_:)``.
    ///   - token: The result of ``exchange(_:)`` or ``freshAccessToken(minimumValidity:forceRefresh:parameters:)``.
    /// - Throws: ``AuthError``, as the transport does; ``AuthError/Code/invalidConfiguration`` for a URL that must not
    ///   get a token; `CancellationError`.
    public nonisolated func send(_ request: TransportRequest, with token: AccessToken) async throws -> TransportResponse
    {
        try request.refuseUnsafeURL(.resource)
        return try await send(request, with: token, stage: .resource)
    }

    nonisolated func send(_ request: TransportRequest, stage: AuthError.Stage) async throws -> TransportResponse {
        // Before a refresh.
        try request.refuseUnsafeURL(stage)
        return try await send(stage: stage) { _ in request }
    }

    /// Sends a request that depends on the token; otherwise as ``send(_:)``. The caller has checked its URL.
    package nonisolated func send(
        stage: AuthError.Stage = .resource, _ request: @Sendable (AccessToken) throws -> TransportRequest
    ) async throws -> TransportResponse {
        let token = try await freshAccessToken()
        let first = try request(token)
        let response = try await send(first, with: token, stage: stage)
        let isRefused =
            environment.dialect.refuses(token, in: response) || stage == .userInfo && response.mayMean(invalid: token)
        guard isRefused, await mayReplace(token, of: first.head.authority ?? "") else { return response }
        reject(token)
        // The next request gets another token, even if this one cannot be sent once more.
        guard first.rewind() else { return response }
        let newToken = try await freshAccessToken()
        return try await send(request(newToken), with: newToken, stage: stage)
    }

    /// Returns whether there may be another token in place of one that a resource server has rejected. Another caller may have
    /// received the same response and refreshed already.
    ///
    /// A server that rejects each new token too causes three refreshes a minute, and not one for each request.
    ///
    /// - Parameter server: The host and port of the resource server.
    package func mayReplace(_ token: AccessToken, of server: String) -> Bool {
        guard record.accessToken?.value == token.value else { return true }
        let now = environment.now()
        replacements.removeAll { $0.time.elapsed(until: now) ?? .seconds(60) >= .seconds(60) }
        let isNoted = replacements.contains { $0.token == token.value }
        guard record.renewsItself, isNoted || replacements.count(where: { $0.server == server }) < 3 else {
            return false
        }
        if !isNoted { replacements.append((token.value, server, now)) }
        return true
    }

    private nonisolated func send(
        _ request: TransportRequest, with token: AccessToken, stage: AuthError.Stage
    ) async throws -> TransportResponse {
        var request = request
        environment.dialect.authorize(token, &request.head.headerFields)
        var response: TransportResponse
        if let proof {
            response = try await environment.send(provenBy: proof, with: token, stage: stage) { [request] in request }
        } else {
            response = try await environment.send(request, stage: stage)
        }
        response.secrets = [token.value]
        return response
    }
}

extension TransportRequest {
    /// Throws unless the URL is https, or http on this machine.
    fileprivate func refuseUnsafeURL(_ stage: AuthError.Stage) throws {
        let url = try SecureURL("\(head.scheme ?? "")://\(head.authority ?? "")\(head.path ?? "")")
        // A path without a leading slash would extend the host name.
        guard url.authority == head.authority else {
            throw AuthError(.invalidConfiguration, stage, "expected a path that begins with /, found another")
        }
    }
}
