public import AppAuthProtocol
internal import JOSE

/// A front-channel logout request (OpenID Connect Front-Channel Logout §2). The provider has opened the app's
/// ``ClientMetadata/frontchannelLogoutURI`` in a frame of the browser and named the session that is over.
///
/// Any web page can open that URI. The request therefore counts only if it names the provider and a session, whose ID a
/// stranger does not know: register the client with `frontchannel_logout_session_required`.
///
/// ```swift
/// let logout = try FrontChannelLogout(fromQuery: query, client: client)
/// for state in sessions { try await state.end(by: logout) }
/// ```
public struct FrontChannelLogout: Sendable, Hashable {
    /// The issuer of the request.
    public let issuer: String
    /// The ID of the session that is over.
    public let sessionID: String

    /// Parses and checks the query of the app's URI.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidLogoutToken`` that says what was expected and found.
    public init(fromQuery query: String, client: Client) throws {
        func refusal(_ message: String) -> AuthError {
            AuthError(.invalidLogoutToken, .logout, "invalid front-channel logout request: \(message)")
        }
        guard let parameters = FormParameters(decoding: query) else {
            throw refusal("expected a query in UTF-8, found another encoding")
        }
        func single(_ name: String) throws -> String {
            let values = parameters.values(name)
            guard values.count == 1, let value = values.first, !value.isEmpty else {
                throw refusal("expected one \(name.foundText), found \(values.count)")
            }
            return value
        }
        // §2: if one of them is present, both must be.
        (issuer, sessionID) = (try single("iss"), try single("sid"))
        // With several issuers, `names` decides which session's it is.
        guard client.idTokenRules.issuer.accepts(issuer, as: client.provider.issuer.string) else {
            throw refusal("expected 'iss' to be \(client.provider.issuer.description.foundText), found another")
        }
    }

    /// Returns whether this request ends the session of an ID token.
    public func names(_ idToken: IDToken) -> Bool {
        issuer.isExactly(idToken.issuer) && idToken.sessionID.map(sessionID.isExactly) == true
    }
}
