internal import FoundationEssentials
internal import JOSE

/// Tokens that are stored and not yet answered with.
struct IssuedTokens: Sendable {
    let grant: Grant
    let scopes: [String]
    let authorizationDetails: [JSON]
    let accessToken: String
    let refreshToken: String?
    /// For the first ID token of a grant alone (OpenID Connect Core §12.2).
    var nonce: String?
    var wantsIDToken = true
}

/// Makes tokens for a grant.
struct TokenIssuer {
    let context: Context

    /// Everything that a fresh grant gives: a refresh token only with offline_access (Core §11), unless the provider is
    /// one that always gives one; to a client for itself never (RFC 6749 §4.4.3).
    func issue(_ grant: Grant, to client: RegisteredClient, in records: inout Records) throws -> IssuedTokens {
        records.prune(context.now)
        records.grants[grant.id] = grant
        let isUnasked = context.configuration.givesRefreshTokensUnasked && grant.subject != nil
        let isAsked = grant.scopes.contains("offline_access")
        let isOffline = (isAsked || isUnasked) && client.grantTypes.contains("refresh_token")
        return IssuedTokens(
            grant: grant, scopes: grant.scopes, authorizationDetails: grant.authorizationDetails,
            accessToken: try accessToken(for: grant, in: &records),
            refreshToken: isOffline ? try refreshToken(for: grant, in: &records) : nil, nonce: grant.nonce)
    }

    /// A token for all of a grant, or for a grant that was made smaller.
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
        // RFC 9449 §5: those of a confidential client are bound by its authentication.
        let isPublic = context.client(grant.clientID)?.isPublic ?? true
        records.refreshTokens[token] = RefreshToken(
            grantID: grant.id, confirmation: isPublic ? context.confirmation : nil, issuedAt: now,
            expiresAt: now.adding(context.configuration.refreshTokenLifetime))
        return token
    }

    /// The response, with an ID token where one is due. Outside the store's lock: signing takes a while, and a test's
    /// fault may look at the provider.
    func respond(_ issued: IssuedTokens, to client: RegisteredClient) throws -> TokenReply {
        let hasIDToken = issued.wantsIDToken && issued.grant.scopes.contains("openid") && issued.grant.subject != nil
        return TokenReply(
            accessToken: issued.accessToken, tokenType: context.confirmation.tokenType,
            expiresIn: context.accessTokenLifetime(of: client),
            scopes: issued.scopes, authorizationDetails: issued.authorizationDetails, refreshToken: issued.refreshToken,
            idToken: hasIDToken ? try IDTokenIssuer(context: context).token(issued, client) : nil)
    }
}

extension Context {
    fileprivate func accessTokenLifetime(of client: RegisteredClient) -> Int {
        client.accessTokenLifetime ?? configuration.accessTokenLifetime
    }
}
