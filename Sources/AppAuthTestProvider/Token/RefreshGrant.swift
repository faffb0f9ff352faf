internal import JOSE
internal import FoundationEssentials

/// Refreshes tokens (RFC 6749 §6, OpenID Connect Core §12).
struct RefreshGrant {
    let context: Context

    func refresh(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let value = form["refresh_token"] else { throw OAuthFailure.invalidRequest("expected a refresh_token") }
        let resources = try ResourceIndicators.check(form, context)
        let details = try AuthorizationDetails.check(form, context)
        let (now, configuration) = (context.now, context.configuration)
        let result: Result<IssuedTokens, any Error> = context.store.withLock { records in
            guard var token = records.refreshTokens[value], token.expiresAt > now,
                let grant = records.grants[token.grantID], grant.clientID == client.id
            else { return .failure(OAuthFailure.invalidGrant("the refresh token is not valid for this client")) }
            // First, so that nobody without the key can end a session with an old token.
            do { try context.check(token.confirmation, of: "the refresh token") } catch { return .failure(error) }
            // RFC 9700 §4.14.2: of two users of one token, one is a thief; nobody can say which, so both lose.
            // The other may have come later than this one, and been the first here.
            if let rotatedAt = token.rotatedAt,
                max(0, now.timeIntervalSince(rotatedAt)) >= Double(configuration.refreshTokenGracePeriod)
            {
                records.revoke(grant: grant.id)
                return .failure(OAuthFailure.invalidGrant("the refresh token was used before"))
            }
            return Result {
                // Checked before the token is spent: a request that asks for too much costs nothing.
                var limited = grant
                limited.scopes = try Self.scopes(form["scope"], of: grant)
                limited.resources = try CodeGrant.limited(resources, to: grant.resources)
                limited.authorizationDetails = try AuthorizationDetails.limited(
                    details, to: grant.authorizationDetails)
                let issuer = TokenIssuer(context: context)
                let access = try issuer.accessToken(for: limited, in: &records)
                var successor: String?
                if configuration.rotatesRefreshTokens {
                    successor = try issuer.refreshToken(for: grant, in: &records)
                    if token.rotatedAt == nil { token.rotatedAt = now }
                } else {
                    token.expiresAt = now.adding(configuration.refreshTokenLifetime)
                }
                records.refreshTokens[value] = token
                return IssuedTokens(
                    grant: grant, scopes: limited.scopes, authorizationDetails: limited.authorizationDetails,
                    accessToken: access, refreshToken: successor,
                    wantsIDToken: configuration.sendsIDTokenOnRefresh)
            }
        }
        return try TokenIssuer(context: context).respond(result.get(), to: client)
    }

    /// RFC 6749 §6: the scope may shrink for this access token, never grow.
    private static func scopes(_ wanted: String?, of grant: Grant) throws(OAuthFailure) -> [String] {
        guard let wanted = wanted?.split(separator: " ").map(String.init) else { return grant.scopes }
        guard Set(wanted).isSubset(of: grant.scopes) else {
            throw OAuthFailure("invalid_scope", "the scope goes beyond what was granted")
        }
        return grant.scopes.filter(wanted.contains)
    }
}
