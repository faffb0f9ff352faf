internal import FoundationEssentials
internal import JOSE

/// Tokens that are stored, but not sent yet.
struct IssuedTokens: Sendable {
    let grant: Grant
    let scopes: [String]
    let authorizationDetails: [JSON]
    let accessToken: String
    let refreshToken: String?
    /// The nonce, only for the first ID token of a grant (OpenID Connect Core §12.2).
    var nonce: String?
    var wantsIDToken = true
}

/// The issuer of a grant's tokens.
struct TokenIssuer {
    let context: Context

    /// Issues the tokens of a new grant. It has a refresh token only with offline_access (Core §11), or for every
    /// user's grant if the configuration says so. A client's grant for itself never has offline_access
    /// (RFC 6749 §4.4.3).
    func issue(_ grant: Grant, to client: RegisteredClient, in records: inout Records) throws -> IssuedTokens {
        records.prune(context.now)
        records.grants[grant.id] = grant
        let isUnasked = context.configuration.givesRefreshTokensUnasked && grant.subject != nil
        let byAccessType = context.configuration.issuesRefreshTokensByAccessType
        let isAsked = byAccessType ? grant.isOffline : grant.scopes.contains("offline_access")
        let isOffline = (isAsked || isUnasked) && client.grantTypes.contains("refresh_token")
        return IssuedTokens(
            grant: grant, scopes: grant.scopes, authorizationDetails: grant.authorizationDetails,
            accessToken: try accessToken(for: grant, in: &records),
            refreshToken: isOffline ? try refreshToken(for: grant, in: &records) : nil, nonce: grant.nonce)
    }

    /// Issues a token for a whole grant, or for a narrowed one.
    func accessToken(for grant: Grant, in records: inout Records) throws -> String {
        let (token, now) = (try OpaqueToken.make(), context.now)
        let lifetime = context.client(grant.clientID).map(context.accessTokenLifetime(of:))
        records.accessTokens[token] = AccessToken(
            grantID: grant.id, scopes: grant.scopes, resources: grant.resources,
            authorizationDetails: grant.authorizationDetails, confirmation: context.confirmation,
            issuedAt: now, expiresAt: now.adding(lifetime ?? context.configuration.accessTokenLifetime))
        return token
    }

    func refreshToken(for grant: Grant, in records: inout Records) throws -> String {
        let (token, now) = (try OpaqueToken.make(), context.now)
        // RFC 9449 §5: a confidential client's refresh tokens are bound by its authentication.
        let isPublic = context.client(grant.clientID)?.isPublic ?? true
        records.refreshTokens[token] = RefreshToken(
            grantID: grant.id, confirmation: isPublic ? context.confirmation : nil, issuedAt: now,
            expiresAt: now.adding(context.configuration.refreshTokenLifetime))
        return token
    }

    /// Returns the response, with an ID token if one is due. Must be called without the store's lock: signing takes
    /// time, and a test's fault may access the provider.
    func respond(_ issued: IssuedTokens, to client: RegisteredClient) throws -> TokenReply {
        let hasIDToken = issued.wantsIDToken && issued.grant.scopes.contains("openid") && issued.grant.subject != nil
        var reply = TokenReply(
            accessToken: issued.accessToken, tokenType: context.confirmation.tokenType,
            expiresIn: context.accessTokenLifetime(of: client),
            scopes: issued.scopes, authorizationDetails: issued.authorizationDetails, refreshToken: issued.refreshToken,
            idToken: hasIDToken ? try IDTokenIssuer(context: context).token(issued, client) : nil)
        reply.refreshIn = context.configuration.refreshIn
        return reply
    }
}

extension Context {
    fileprivate func accessTokenLifetime(of client: RegisteredClient) -> Int {
        client.accessTokenLifetime ?? configuration.accessTokenLifetime
    }
}
