internal import HTTPTypes

extension AuthState {
    /// Sends a request with a valid access token in its `Authorization` field (RFC 6750 §2.1), and returns the answer,
    /// whatever its status.
    ///
    /// If the answer is a 401 that says `invalid_token`, or what ``Dialect/refusesToken`` takes for the same, the token is refreshed and the request is sent once more, with
    /// its body. Redirects are not followed, since they could take the token to another host.
    ///
    /// - Parameter exchange: A request to an https URL, or to http on loopback. Send a token only to the servers it is
    ///   meant for.
    /// - Throws: ``AuthError``, as ``freshAccessToken(minimumValidity:forceRefresh:parameters:)`` and the transport do;
    ///   ``AuthError/Code/invalidConfiguration`` for a URL that must not get a token; `CancellationError`.
    public nonisolated func send(_ exchange: HTTPExchange) async throws -> HTTPAnswer {
        try await send(exchange, stage: .resource)
    }

    nonisolated func send(_ exchange: HTTPExchange, stage: AuthError.Stage) async throws -> HTTPAnswer {
        let request = exchange.request
        let url = try SecureURL("\(request.scheme ?? "")://\(request.authority ?? "")\(request.path ?? "")")
        // A path without its slash would go on in the name of the host.
        guard url.authority == request.authority else {
            throw AuthError(
                .invalidConfiguration, stage, "expected a path that begins with /, found another", outcome: .notSent)
        }
        let token = try await freshAccessToken()
        let answer = try await send(exchange, with: token, stage: stage)
        guard environment.dialect.refusesToken(answer) else { return answer }
        // Another caller may have had the same answer and refreshed already.
        let record = await record
        guard record.accessToken?.value != token.value || record.renewsItself else { return answer }
        reject(token)
        let fresh = try await freshAccessToken()
        return try await send(exchange, with: fresh, stage: stage)
    }

    private nonisolated func send(
        _ exchange: HTTPExchange, with token: AccessToken, stage: AuthError.Stage
    ) async throws -> HTTPAnswer {
        var exchange = exchange
        environment.dialect.authorize(token, &exchange.request.headerFields)
        guard let proof else { return try await environment.send(exchange, stage: stage) }
        return try await environment.send(provenBy: proof, with: token, stage: stage) { exchange }
    }
}
