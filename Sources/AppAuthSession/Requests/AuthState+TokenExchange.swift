public import AppAuthProtocol

extension AuthState {
    /// Exchanges a token for another (RFC 8693), as the session's client.
    ///
    /// If the session's tokens are bound to a key, the request proves possession of it (RFC 9449 §5), and the new token
    /// is bound to the same key: send it with ``send(_:with:)``. One POST is sent and not repeated. Nothing is stored:
    /// the new token belongs to the caller.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/signInRequired`` after the session has ended; the server's own
    ///   code for an OAuth error (`invalid_target` for a service that the token cannot be for, §2.2.2),
    ///   ``AuthError/Code/invalidResponse`` (also for a token that is not bound as the session's are),
    ///   ``AuthError/Code/invalidMetadata``, ``AuthError/Code/invalidConfiguration``, ``AuthError/Code/transport``,
    ///   ``AuthError/Code/timeout``; `CancellationError`.
    public func exchange(_ request: TokenExchangeRequest) async throws -> ExchangedToken {
        if let end = record.end { throw SessionRules.signInRequired(end.reason) }
        return try await request.send(
            to: ClientEndpoint(client: record.client, environment: environment, proof: proof))
    }
}
