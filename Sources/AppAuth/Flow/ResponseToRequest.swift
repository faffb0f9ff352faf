public import AppAuthProtocol

extension LoopbackRedirectListener {
    /// Waits for the response to an authorization request. Redirects that belong to another request are ignored, and
    /// the wait goes on.
    ///
    /// - Throws: ``AuthError`` with the provider's own code if it refused the request, the errors of
    ///   ``AuthorizationRequest/response(fromQuery:)``, and those of ``redirect(match:)``.
    public func response(to request: AuthorizationRequest) async throws -> AuthorizationResponse {
        try await redirect(match: request.response(toQuery:)).get()
    }
}

extension PrivateUseRedirectListener {
    /// Waits for the response to an authorization request. Redirects that belong to another request are ignored, and
    /// the wait goes on.
    ///
    /// - Throws: ``AuthError`` with the provider's own code if it refused the request, the errors of
    ///   ``AuthorizationRequest/response(fromQuery:)``, and those of ``redirect(match:)``.
    public func response(to request: AuthorizationRequest) async throws -> AuthorizationResponse {
        try await redirect(match: request.response(toQuery:)).get()
    }
}

extension AuthorizationRequest {
    /// Returns what a query means, or nil if it is not the response to this request.
    func response(toQuery query: String) -> Result<AuthorizationResponse, AuthError>? {
        do { return try response(fromQuery: query).map(Result.success) } catch {
            return .failure(
                error as? AuthError ?? AuthError(.invalidRedirect, .redirect, "the redirect could not be read"))
        }
    }
}
