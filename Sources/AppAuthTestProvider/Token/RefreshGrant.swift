internal import AppAuthConcurrency
internal import FoundationEssentials

/// The grant that refreshes tokens (RFC 6749 §6, OpenID Connect Core §12).
struct RefreshGrant {
    let context: Context

    func refresh(_ form: Parameters, _ client: RegisteredClient) throws -> TokenReply {
        guard let value = form["refresh_token"] else { throw OAuthFailure.invalidRequest("expected a refresh_token") }
        let resources = try ResourceIndicators.check(form, context)
        let details = try AuthorizationDetails.check(form, context)
        let (now, configuration) = (context.now, context.configuration)
        let result: Result<IssuedTokens, any Error> = context.store.withLock { records in
            guard records.refreshTokens[value] != nil else {
                return .failure(
                    OAuthFailure.invalidGrant(
                        "the refresh token is unknown: its session has ended, or this provider was started again"))
            }
            guard var token = records.refreshTokens[value], token.expiresAt > now,
                let grant = records.grants[token.grantID], grant.clientID == client.id
            else { return .failure(OAuthFailure.invalidGrant("the refresh token is not valid for this client")) }
            // First, so that an attacker without the key cannot end a session with an old token.
            do { try context.check(token.confirmation, of: "the refresh token") } catch { return .failure(error) }
            // RFC 9700 §4.14.2: if a token is used twice, one of the users is an attacker. The provider cannot tell
            // which, so both lose. Because requests may overtake each other, `rotatedAt` may be later than `now`.
            if let rotatedAt = token.rotatedAt,
                max(0, now.timeIntervalSince(rotatedAt)) >= Double(configuration.refreshTokenGracePeriod)
            {
                records.revoke(grant: grant.id)
                return .failure(OAuthFailure.invalidGrant("the refresh token was used before"))
            }
            return Result {
                // Checked before the token is used up: a request for too much leaves it valid.
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

    /// Returns the scope of the new access token, which may be narrower than the grant's, but not wider (RFC 6749 §6).
    private static func scopes(_ wanted: String?, of grant: Grant) throws(OAuthFailure) -> [String] {
        guard let wanted = wanted?.split(separator: " ").map(String.init) else { return grant.scopes }
        guard Set(wanted).isSubset(of: grant.scopes) else {
            throw OAuthFailure("invalid_scope", "the scope goes beyond what was granted")
        }
        return grant.scopes.filter(wanted.contains)
    }
}
