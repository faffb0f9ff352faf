internal import AppAuthProtocol

extension RevocableToken {
    /// Returns a refresh token and access tokens.
    static func tokens(_ refreshToken: Secret?, _ accessTokens: [Secret]) -> [RevocableToken] {
        (refreshToken.map { [RevocableToken(typeHint: "refresh_token", value: $0)] } ?? [])
            + accessTokens.map { RevocableToken(typeHint: "access_token", value: $0) }
    }
}

extension AuthStateRecord {
    /// All tokens, the session's own first. RFC 7009 §2.1: the revocation of the refresh token may leave the access tokens
    /// valid.
    var revocable: [RevocableToken] { RevocableToken.tokens(refreshToken, accessTokens.map(\.value)) }
}

extension TokenResponse {
    var revocable: [RevocableToken] { RevocableToken.tokens(refreshToken, [accessToken]) }
}
