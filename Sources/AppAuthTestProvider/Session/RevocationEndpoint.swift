internal import AppAuthConcurrency
internal import HTTPTypes

/// The revocation endpoint (RFC 7009), also for public clients.
struct RevocationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            guard let token = form["token"] else { throw OAuthFailure.invalidRequest("expected a token") }
            // RFC 7009 §2.1: token_type_hint only optimizes the lookup. Both kinds are searched anyway.
            return try context.store.withLock { records in
                let grantID = records.refreshTokens[token]?.grantID ?? records.accessTokens[token]?.grantID
                guard let grantID, let grant = records.grants[grantID] else {
                    // RFC 7009 §2.2: an unknown token counts as revoked.
                    return Reply(.ok)
                }
                guard grant.clientID == client.id else {
                    // RFC 7009 §2.1: the client gets an error if the token is another's.
                    throw OAuthFailure.invalidGrant("the token was issued to another client")
                }
                // RFC 7009 §2.1: a refresh token is revoked with its whole grant, an access token on its own.
                if records.refreshTokens[token] != nil { records.revoke(grant: grantID) }
                records.accessTokens[token] = nil
                return Reply(.ok)
            }
        }
    }
}
