package import JOSE

/// The response of the token endpoint (RFC 6749 §5.1, OpenID Connect Core §3.1.3.3).
package struct TokenReply: Sendable, Hashable {
    package let accessToken: String
    package let tokenType: String
    /// The lifetime of the access token in seconds.
    package let expiresIn: Int
    package let scopes: [String]
    /// The granted authorization details (RFC 9396 §7).
    package let authorizationDetails: [JSON]
    package let refreshToken: String?
    package let idToken: String?
    /// The type of a token from a token exchange (RFC 8693 §2.2.1); nil for every other grant.
    package var issuedTokenType: String?
    /// The seconds after which the client should refresh, although the token is still valid.
    package var refreshIn: Int?

    var json: JSON {
        var members = JSON.Object()
        members["access_token"] = .string(accessToken)
        members["token_type"] = .string(tokenType)
        members["expires_in"] = .number(.init(expiresIn))
        members["refresh_in"] = refreshIn.map { .number(.init($0)) }
        members["scope"] = .string(scopes.joined(separator: " "))
        if !authorizationDetails.isEmpty { members["authorization_details"] = .array(authorizationDetails) }
        members["refresh_token"] = refreshToken.map(JSON.string)
        members["id_token"] = idToken.map(JSON.string)
        members["issued_token_type"] = issuedTokenType.map(JSON.string)
        return .object(members)
    }
}
