internal import FoundationEssentials
internal import JOSE

/// What a person (or a client for itself) has allowed. Every token belongs to one, and dies with it.
struct Grant: Sendable {
    let id: String
    let clientID: String
    /// nil for client credentials.
    let subject: String?
    var scopes: [String]
    let authTime: Date?
    /// How the person signed in.
    let acr: String?
    let nonce: String?
    let claims: ClaimsRequest
    /// What the tokens are for (RFC 8707); empty for everything.
    var resources: [String]
    /// Who acts for the subject, after a token exchange (RFC 8693 §4.1).
    var actor: String? = nil
    /// What was allowed in detail (RFC 9396).
    var authorizationDetails: [JSON] = []
    /// The session of the browser that it was given in (`sid`).
    var sessionID: String? = nil
}

/// Waits to be exchanged (RFC 6749 §4.1.2).
struct AuthorizationCode: Sendable {
    let grant: Grant
    let redirectURI: String
    let codeChallenge: String?
    /// The key that the exchange has to prove.
    let confirmation: Confirmation?
    let expiresAt: Date
    var isUsed = false
}

struct AccessToken: Sendable {
    let grantID: String
    let scopes: [String]
    let resources: [String]
    let authorizationDetails: [JSON]
    /// The key that whoever uses it has to prove; nil for a bearer token.
    let confirmation: Confirmation?
    let issuedAt: Date
    let expiresAt: Date
}

struct RefreshToken: Sendable {
    let grantID: String
    /// The key of the public client that it was given to.
    let confirmation: Confirmation?
    let issuedAt: Date
    var expiresAt: Date
    /// When its successor was given out.
    var rotatedAt: Date?
}

extension Records {
    /// Takes back everything that the grant gave.
    mutating func revoke(grant id: String) {
        grants[id] = nil
        accessTokens = accessTokens.filter { $0.value.grantID != id }
        refreshTokens = refreshTokens.filter { $0.value.grantID != id }
    }

    /// The access token and its grant, if both are alive.
    func access(_ token: String, _ now: Date) -> (token: AccessToken, grant: Grant)? {
        guard let found = accessTokens[token], found.expiresAt > now, let grant = grants[found.grantID] else {
            return nil
        }
        return (found, grant)
    }
}
