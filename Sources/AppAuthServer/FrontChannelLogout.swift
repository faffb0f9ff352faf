public import AppAuthProtocol

/// A front-channel logout request (OpenID Connect Front-Channel Logout §2): the provider has shown the app's
/// ``ClientMetadata/frontchannelLogoutURI`` in a frame of the browser, with the session that is over.
///
/// Any page can do that. So it counts only if it names the provider and a session, which a stranger does not know:
/// register with `frontchannel_logout_session_required`.
///
/// ```swift
/// let logout = try FrontChannelLogout(fromQuery: query, client: client)
/// for state in sessions { try await state.end(by: logout) }
/// ```
public struct FrontChannelLogout: Sendable, Hashable {
    /// Who says so.
    public let issuer: String
    /// Which session is over.
    public let sessionID: String

    /// Reads and checks the query that the app's URI was opened with.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidLogoutToken`` that says what was expected and found.
    public init(fromQuery query: String, client: Client) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidLogoutToken, .logout, "the front-channel logout request is refused: \(message)")
        }
        guard let parameters = FormParameters(decoding: query) else {
            throw refusal("expected a query in UTF-8, found another")
        }
        func single(_ name: String) throws -> String {
            let values = parameters.values(name)
            guard values.count == 1, let value = values.first, !value.isEmpty else {
                throw refusal("expected one '\(name)', found \(values.count)")
            }
            return value
        }
        // §2: if either is there, both are.
        (issuer, sessionID) = (try single("iss"), try single("sid"))
        guard issuer.isExactly(client.provider.issuer.string) else {
            throw refusal("expected 'iss' to be '\(client.provider.issuer)', found another")
        }
    }

    /// Whether the session of an ID token is the one that it ends.
    public func names(_ idToken: IDToken) -> Bool {
        issuer.isExactly(idToken.issuer) && idToken.sessionID.map(sessionID.isExactly) == true
    }
}
