extension AuthorizationRequest {
    /// Makes the request ready for the browser, in the way that the options ask for or the provider requires: signed (RFC
    /// 9101), pushed (RFC 9126), both, or as it is.
    ///
    /// Sends nothing, or one POST. A pushed request is good for one sign-in, and for a minute or so until it begins.
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
