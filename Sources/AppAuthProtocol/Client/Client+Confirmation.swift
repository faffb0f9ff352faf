extension Client {
    /// Returns the client for a sign-in at these endpoints, with a note of the user's agreement: it holds for what the
    /// user has seen, and not for other endpoints that the issuer names later.
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
    package func confirmed(
        _ agreed: SignInConfirmation?, for endpoints: [ProviderMetadata.Endpoint], redirectURI: String? = nil
    ) throws -> Client {
        // An alias takes the place of some endpoints only, so the usual one counts too.
        let all = endpoints.flatMap { [provider[$0], self[$0]] }.compactMap(\.self)
        let isShared = redirectURI.map { !provider.issuer.owns(redirectURI: $0) || id.contains("://") } ?? false
        var client = self
        client.provider = try provider.confirmed(agreed, for: all, isShared: isShared)
        return client
    }
}

extension ProviderMetadata {
    /// Returns the metadata with a note of the user's agreement, if that is required for these endpoints.
    ///
    /// - Parameter isShared: Whether another provider may know the client with the same redirect URI.
    /// - Throws: As ``Client/confirmed(_:for:redirectURI:)``.
    package func confirmed(
        _ agreed: SignInConfirmation?, for endpoints: [SecureURL], isShared: Bool = false
    ) throws -> ProviderMetadata {
        guard let resource else { return self }
        let needed = SignInConfirmation(
            resource: resource, issuer: issuer.url, endpoints: endpoints, isClientShared: isShared)
        guard isShared || !needed.elsewhere.isEmpty else { return self }
        guard let known = [agreed, agreement].compactMap(\.self).first(where: { $0.covers(needed) }) else {
            var error = AuthError(
                .confirmationRequired, .authorization, "\(needed.summary). The user must agree first", outcome: .notSent
            )
            error.confirmation = needed
            throw error
        }
        var provider = self
        provider.agreement = known
        return provider
    }
}

extension SignInConfirmation {
    /// Whether the user has seen all endpoints of another confirmation, perhaps with those of a registration before it.
    fileprivate func covers(_ other: SignInConfirmation) -> Bool {
        resource == other.resource && issuer == other.issuer && other.elsewhere.allSatisfy(elsewhere.contains)
            && (isClientShared || !other.isClientShared)
    }
}
