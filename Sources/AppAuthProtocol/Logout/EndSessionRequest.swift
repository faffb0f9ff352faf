internal import JOSE

/// What the browser is sent to the provider with to sign out there (OpenID Connect RP-Initiated Logout §2).
public struct EndSessionRequest: Sendable {
    /// The URL for the browser. It holds the ID token: it goes into no log, no terminal and no argument list.
    public let url: Secret
    /// The same without the ID token, to be shown where there is no browser. The provider then asks the person.
    public let urlWithoutHint: String
    private let state: Secret

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - client: The client that signs out.
    ///   - idToken: The session's, as a hint (§2); nil if it has none.
    ///   - postLogoutRedirectURI: Where the provider sends the browser afterwards: one that is registered for the client
    ///     (§3). With nil the browser stays at the provider, and ``isAnswered(byQuery:)`` is never true.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no such endpoint.
    public init(client: Client, idToken: IDToken?, postLogoutRedirectURI: String?) throws {
        let endpoint = try client.provider.require(.endSession)
        state = try Secret(randomBytes: 32)
        var parameters = FormParameters()
        parameters.append("client_id", client.id)
        if let postLogoutRedirectURI {
            parameters.append("post_logout_redirect_uri", postLogoutRedirectURI)
            parameters.append("state", state.reveal())
        }
        urlWithoutHint = endpoint.appending(parameters)
        parameters.append("id_token_hint", idToken?.rawValue.reveal())
        url = Secret(endpoint.appending(parameters))
    }

    /// Whether a query that the browser came back with responses this request: its state is the one that was sent (§3).
    public func isAnswered(byQuery query: String) -> Bool {
        guard let parameters = FormParameters(decoding: query), parameters.repeatedName == nil else { return false }
        return parameters.values("state").contains { constantTimeEqual($0, state.reveal()) }
    }
}
