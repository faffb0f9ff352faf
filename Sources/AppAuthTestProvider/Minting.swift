internal import JOSE
internal import FoundationEssentials

extension LocalProvider {
    /// Gives out the tokens of a sign-in that nobody had to go through, as the token endpoint would.
    ///
    /// - Parameters:
    ///   - clientID: A registered client.
    ///   - userName: Who has signed in; nil for the first user.
    ///   - scope: Names with spaces between. With `offline_access` there is a refresh token.
    ///   - nonce: Stands in the ID token.
    ///   - thumbprint: Of the DPoP key that the tokens are bound to; nil for bearer tokens.
    package func mintSession(
        client clientID: String = "demo", user userName: String? = nil,
        scope: String = "openid profile email offline_access", nonce: String? = nil, boundTo thumbprint: String? = nil
    ) throws -> TokenReply {
        var context = context
        context.confirmation = thumbprint.map(Confirmation.key)
        guard let client = context.client(clientID) else {
            throw ProviderError("no client is registered as '\(clientID)'")
        }
        let users = context.people.withLock { $0 }
        guard let user = userName.map({ name in users.first { $0.name == name } }) ?? users.first else {
            throw ProviderError("there is no such user")
        }
        let grant = Grant(
            id: try OpaqueToken.make(), clientID: client.id, subject: user.subject,
            scopes: scope.split(separator: " ").map(String.init), authTime: context.now, acr: Metadata.acr,
            nonce: nonce, claims: .none,
            resources: [])
        let issuer = TokenIssuer(context: context)
        return try issuer.respond(context.store.withLock { try issuer.issue(grant, to: client, in: &$0) }, to: client)
    }

    /// Ends the grant that a token belongs to, as a provider does when an administrator throws somebody out.
    package func revokeGrant(of token: String) {
        context.store.withLock { records in
            guard let id = records.refreshTokens[token]?.grantID ?? records.accessTokens[token]?.grantID else { return }
            records.revoke(grant: id)
        }
    }

    /// From now on whoever presents a refresh token that was used is taken for a thief, however short ago that was.
    package func endGracePeriods() {
        context.store.withLock { records in
            for (value, token) in records.refreshTokens where token.rotatedAt != nil {
                records.refreshTokens[value]?.rotatedAt = .distantPast
            }
        }
    }

    /// Whether an access token or a refresh token is good for anything now.
    package func isAlive(_ token: String) -> Bool {
        let now = context.now
        return context.store.withLock { $0.isAlive(token, now) }
    }

    /// All access tokens and refresh tokens that are good for anything now.
    package var livingTokens: [String] {
        let now = context.now
        return context.store.withLock { records in
            let tokens = Array(records.accessTokens.keys) + records.refreshTokens.keys
            return tokens.filter { records.isAlive($0, now) }
        }
    }
}

extension Records {
    fileprivate mutating func isAlive(_ token: String, _ now: Date) -> Bool {
        if access(token, now) != nil { return true }
        guard let refresh = refreshTokens[token], grants[refresh.grantID] != nil else { return false }
        return refresh.rotatedAt == nil && refresh.expiresAt > now
    }
}
