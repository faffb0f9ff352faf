extension Client {
    /// Returns the client for a sign-in at these endpoints. An issuer that the user agrees to counts as named by the user.
    ///
    /// RFC 9700 §4.4: a code or token of another server may go only to that server. Unless the response shows its issuer,
    /// an issuer that a resource has named may use only endpoints of its own origin. Its page can also redirect the
    /// browser to another server's page. Against that, the redirect URI must be one that only this issuer knows, and so
    /// must not belong to a client ID metadata document, which lists those of all issuers.
    ///
    /// - Parameters:
    ///   - agreed: What the user has agreed to.
    ///   - endpoints: The endpoints that show the user a page, or that get a code or issue a token.
    ///   - redirectURI: Where the browser comes back to; nil if it does not.
    /// - Throws: ``AuthError`` with ``AuthError/Code/confirmationRequired`` if the user has not agreed to what is
    ///   required.
    func confirmed(
        _ agreed: SignInConfirmation?, for endpoints: [ProviderMetadata.Endpoint], redirectURI: String? = nil
    ) throws -> Client {
        guard let resource = provider.resource else { return self }
        // An alias takes the place of some endpoints only, so the usual one counts too.
        let all = endpoints.flatMap { [provider[$0], self[$0]] }.compactMap(\.self)
        let needed = SignInConfirmation(resource: resource, issuer: provider.issuer.url, endpoints: all)
        let isShared = redirectURI.map { !provider.issuer.owns(redirectURI: $0) || id.contains("://") } ?? false
        guard isShared || !needed.elsewhere.isEmpty else { return self }
        guard agreed == needed else {
            var error = AuthError(
                .confirmationRequired, .authorization, "\(needed.summary). The user must agree first", outcome: .notSent
            )
            error.confirmation = needed
            throw error
        }
        var client = self
        client.provider.resource = nil
        return client
    }
}
