extension AuthorizationRequest {
    /// Prepares the request for the browser as the options or the provider require: signed (RFC 9101), pushed
    /// (RFC 9126), both, or unchanged.
    ///
    /// Sends nothing or one POST. A pushed request is valid for one sign-in, and usually expires after about a minute.
    ///
    /// - Throws: ``AuthError``, as ``signed(in:)`` and ``pushed(in:)``; `CancellationError`.
    public func prepared(in environment: Environment) async throws -> AuthorizationRequest {
        var request = self
        if options.signingKeyName != nil || client.provider.requiresSignedRequestObject {
            request = try await request.signed(in: environment)
        }
        if options.isPushed || client.provider.requiresPushedAuthorizationRequests {
            request = try await request.pushed(in: environment)
        }
        return request
    }
}
