public import AppAuthProtocol
internal import Logging

extension AuthState {
    /// Tells the provider that the tokens will not be used again (RFC 7009): the refresh token, then the access token.
    ///
    /// The session here stays as it is; ``forget()`` ends it. Nothing is thrown: a sign-out goes on whatever the provider
    /// says.
    ///
    /// - Returns: One entry for each token that there was; none if the provider has no revocation endpoint, or if another
    ///   sign-in has taken the session's place in the store.
    public func revokeTokens() async -> [TokenRevocation] {
        // Another process may have refreshed since: its tokens are the ones to revoke. If it has signed in anew, nothing is:
        // at several providers a revocation ends all grants of the client, the new one among them.
        guard await !synchronise() else { return [] }
        let record = record
        let tokens = record.revocable
        revoked.formUnion(tokens.map(\.value))
        return await revoke(tokens)
    }

    private func revoke(_ tokens: [RevocableToken]) async -> [TokenRevocation] {
        await RevocationEndpoint(client: record.client, environment: environment).revoke(tokens)
    }

    /// A refresh may have ended between the revocation and the removal: what it has brought is live.
    func revokeRest(of removed: AuthStateRecord) async {
        guard !revoked.isEmpty else { return }
        let tokens = removed.revocable.filter { !revoked.contains($0.value) }
        revoked.formUnion(tokens.map(\.value))
        _ = await revoke(tokens)
    }

    /// Tokens that came after the session had ended are of no use to anybody.
    func revoke(_ orphan: TokenResponse) async {
        environment.logger.notice("session: a response came after its end, and is dropped")
        let refreshToken = orphan.refreshToken.map { RevocableToken(name: "refresh_token", value: $0) }
        _ = await revoke(
            [refreshToken, RevocableToken(name: "access_token", value: orphan.accessToken)].compactMap(\.self))
    }
}

extension AuthStateRecord {
    var revocable: [RevocableToken] {
        [
            refreshToken.map { RevocableToken(name: "refresh_token", value: $0) },
            accessToken.map { RevocableToken(name: "access_token", value: $0.value) },
        ].compactMap(\.self)
    }
}
