internal import AppAuthConcurrency
internal import JOSE
internal import FoundationEssentials

extension LocalProvider {
    /// Issues tokens as the token endpoint would after a sign-in, without a user.
    ///
    /// - Parameters:
    ///   - clientID: A registered client.
    ///   - userName: The user who has signed in; nil for the first user.
    ///   - scope: The scopes, separated by spaces. With `offline_access` there is a refresh token.
    ///   - nonce: The nonce of the ID token.
    ///   - thumbprint: The thumbprint of the DPoP key to which the tokens are bound; nil for bearer tokens.
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

    /// Revokes the grant of a token, as a provider does when an administrator ends a user's access.
    public func revokeGrant(of token: String) {
        context.store.withLock { records in
            guard let id = records.refreshTokens[token]?.grantID ?? records.accessTokens[token]?.grantID else { return }
            records.revoke(grant: id)
        }
    }

    /// Ends all grace periods: from now on, a used refresh token counts as stolen, even if it was used just before.
    package func endGracePeriods() {
        context.store.withLock { records in
            for (value, token) in records.refreshTokens where token.rotatedAt != nil {
                records.refreshTokens[value]?.rotatedAt = .distantPast
            }
        }
    }

    /// Returns whether an access token or a refresh token is valid now.
    public func isAlive(_ token: String) -> Bool {
        let now = context.now
        return context.store.withLock { $0.isAlive(token, now) }
    }

    /// All access tokens and refresh tokens that are valid now.
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
