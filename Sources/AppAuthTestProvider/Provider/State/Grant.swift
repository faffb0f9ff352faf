internal import FoundationEssentials
internal import JOSE

/// The permission of a user (or of a client for itself). Every token belongs to a grant, and is revoked with it.
struct Grant: Sendable {
    let id: String
    let clientID: String
    /// The user's subject; nil for client credentials.
    let subject: String?
    var scopes: [String]
    let authTime: Date?
    /// The authentication context of the sign-in.
    let acr: String?
    let nonce: String?
    let claims: ClaimsRequest
    /// The resources of the tokens (RFC 8707); empty for all.
    var resources: [String]
    /// The party that acts for the subject after a token exchange (RFC 8693 §4.1).
    var actor: String? = nil
    /// The granted authorization details (RFC 9396).
    var authorizationDetails: [JSON] = []
    /// The browser's session in which the grant was made (`sid`).
    var sessionID: String? = nil
    /// Whether the request asked for a refresh token by `access_type=offline`.
    var isOffline = false
}

/// A code that waits for its exchange (RFC 6749 §4.1.2).
struct AuthorizationCode: Sendable {
    let grant: Grant
    let redirectURI: String
    let codeChallenge: String?
    /// The key that the exchange must prove.
    let confirmation: Confirmation?
    let expiresAt: Date
    var isUsed = false
}

struct AccessToken: Sendable {
    let grantID: String
    let scopes: [String]
    let resources: [String]
    let authorizationDetails: [JSON]
    /// The key or certificate that a request with the token must prove; nil for a bearer token.
    let confirmation: Confirmation?
    let issuedAt: Date
    let expiresAt: Date
}

struct RefreshToken: Sendable {
    let grantID: String
    /// The key of the public client to which the token was issued.
    let confirmation: Confirmation?
    let issuedAt: Date
    var expiresAt: Date
    /// The time at which its successor was issued.
    var rotatedAt: Date?
}

extension Records {
    /// Revokes a grant and all of its tokens.
    mutating func revoke(grant id: String) {
        grants[id] = nil
        accessTokens = accessTokens.filter { $0.value.grantID != id }
        refreshTokens = refreshTokens.filter { $0.value.grantID != id }
    }

    /// Returns the access token and its grant, if both are valid.
    func access(_ token: String, _ now: Date) -> (token: AccessToken, grant: Grant)? {
        guard let found = accessTokens[token], found.expiresAt > now, let grant = grants[found.grantID] else {
            return nil
        }
        return (found, grant)
    }
}
