extension AuthorizationRequest {
    /// Returns what the user must agree to before the authorization page opens; nil if nothing.
    ///
    /// RFC 9700 §4.4: a code of another server may go only to that server. A response shows that it comes from the issuer
    /// by its `iss` (RFC 9207), if that is promised: without it, or with another one, the response is refused. Otherwise,
    /// the page must be on the issuer's own origin, and the redirect URI must belong to the issuer, because its page can
    /// redirect the browser to another server's page.
    static func confirmation(of provider: ProviderMetadata, redirectURI: String) throws -> SignInConfirmation? {
        guard let resource = provider.resource, !provider.authorizationResponseIssParameterSupported else { return nil }
        let (issuer, page) = (provider.issuer.url, try provider.require(.authorization))
        guard issuer.origin != page.origin || !provider.issuer.owns(redirectURI: redirectURI) else { return nil }
        return SignInConfirmation(resource: resource, issuer: issuer, page: page)
    }

    /// Returns the client for a request. An issuer that the user agrees to counts as named by the user.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/confirmationRequired`` if the user has not agreed to what is
    ///   required.
    static func confirmed(_ client: Client, redirectURI: String, by options: Options) throws -> Client {
        guard let needed = try confirmation(of: client.provider, redirectURI: redirectURI) else { return client }
        guard options.confirmed == needed else {
            var error = AuthError(
                .confirmationRequired, .authorization,
                "the resource at \(needed.resource.shownHost) names the authorization server \(needed.issuer.shownHost), "
                    + "whose sign-in page is on \(needed.page.shownHost), and nothing will show that the response comes "
                    + "from \(needed.issuer.shownHost). The user must agree first", outcome: .notSent)
            error.confirmation = needed
            throw error
        }
        var client = client
        client.provider.resource = nil
        return client
    }

    /// The names that the query of a provider's authorization endpoint must not have: those of all parameters that this
    /// library sets. Otherwise, the provider could, for example, keep its own page from being shown (`prompt=none`).
    static let ownParameters = Options.reservedParameters.union([
        "prompt", "login_hint", "max_age", "acr_values", "ui_locales", "display", "claims", "authorization_details",
        "resource", "response_mode", "id_token_hint", "dpop_jkt",
    ])
}
