package import AppAuthProtocol
internal import Logging

extension AuthState {
    /// Tells the provider that the tokens will not be used again (RFC 7009): the refresh token, then the access token.
    ///
    /// The session here stays as it is; ``forget()`` ends it. Nothing is thrown: a sign-out goes on even if this fails.
    ///
    /// - Returns: As ``signOut(revokingTokens:)``.
    package func revokeTokens() async -> [TokenRevocation] {
        // Another process may have refreshed the session: revoke its tokens. If another sign-in has replaced the
        // session, revoke nothing: several providers then end all grants of the client, including the new one.
        if case .read(isReplaced: true) = try? await perform(.read) { return [] }
        let tokens = record.revocable
        take(.revoked(tokens.map(\.value)))
        return await revoke(tokens)
    }

    func revoke(_ tokens: [RevocableToken]) async -> [TokenRevocation] {
        await RevocationEndpoint(client: record.client, environment: environment).revoke(tokens)
    }
}

extension RevocableToken {
    /// Returns a refresh token and an access token, in the order in which they are revoked.
    static func tokens(_ refreshToken: Secret?, _ accessToken: Secret?) -> [RevocableToken] {
        [
            refreshToken.map { RevocableToken(name: "refresh_token", value: $0) },
            accessToken.map { RevocableToken(name: "access_token", value: $0) },
        ].compactMap(\.self)
    }
}

extension AuthStateRecord {
    var revocable: [RevocableToken] { RevocableToken.tokens(refreshToken, accessToken?.value) }
}
