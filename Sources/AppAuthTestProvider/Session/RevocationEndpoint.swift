internal import HTTPTypes
internal import JOSE

/// The revocation endpoint (RFC 7009), for public clients too.
struct RevocationEndpoint {
    let context: Context

    func respond(to request: Request) throws -> Reply {
        try FormEndpoint(context: context).respond(to: request) { form, client in
            guard let token = form["token"] else { throw OAuthFailure.invalidRequest("expected a token") }
            // RFC 7009 §2.1: token_type_hint only says where to look first; both places are looked at anyway.
            return try context.store.withLock { records in
                let grantID = records.refreshTokens[token]?.grantID ?? records.accessTokens[token]?.grantID
                guard let grantID, let grant = records.grants[grantID] else {
                    // RFC 7009 §2.2: a token that is not known is as good as revoked.
                    return Reply(.ok)
                }
                guard grant.clientID == client.id else {
                    // RFC 7009 §2.1: the client is told that the token is not its own.
                    throw OAuthFailure.invalidGrant("the token was issued to another client")
                }
                // RFC 7009 §2.1: with a refresh token goes everything of its grant; an access token goes alone.
                if records.refreshTokens[token] != nil { records.revoke(grant: grantID) }
                records.accessTokens[token] = nil
                return Reply(.ok)
            }
        }
    }
}
