internal import JOSE

/// A request that the browser opens at the provider to sign out there (OpenID Connect RP-Initiated Logout §2).
public struct EndSessionRequest: Sendable {
    /// The URL for the browser. It contains the ID token, unless it would then be longer than 2,048 bytes, which several servers
    /// refuse: keep it out of logs, terminals and argument lists.
    public let url: Secret
    /// The URL without the ID token, for display if there is no browser. The provider then asks the user to confirm.
    public let urlWithoutHint: String
    private let state: Secret
    /// Longer ones are refused by IIS, as it is configured by default, and by Microsoft Entra.
    private static let longest = 2048

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - client: The client that signs out.
    ///   - idToken: The session's ID token, as a hint (§2); nil if it has none.
    ///   - postLogoutRedirectURI: The URI to which the provider then redirects the browser; it must be registered for
    ///     the client (§3). If it is nil, the browser stays at the provider and ``isResponse(query:)`` is never true.
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
        // §2: the hint is only recommended. The request has the client ID, and without the hint, the provider may ask the user.
        let complete = endpoint.appending(parameters)
        url = Secret(complete.utf8.count <= Self.longest ? complete : urlWithoutHint)
    }

    /// Returns whether a query that the browser returned with is the response to this request: its state must be the
    /// one that was sent (§3).
    public func isResponse(query: String) -> Bool {
        guard let parameters = FormParameters(decoding: query), parameters.repeatedName == nil else { return false }
        return parameters.values("state").contains { constantTimeEqual($0, state.reveal()) }
    }
}
