/// What a token response announces beyond the access token's lifetime, from receipt. All of it is advice: a value that
/// cannot be read is absent, and does not make the tokens unusable. No RFC has these members yet.
package struct AnnouncedLifetimes: Sendable, Hashable {
    /// The lifetime of the refresh token: `refresh_token_expires_in`, Intuit's name for it, or Keycloak's `refresh_expires_in`,
    /// which is 0 for a token that does not expire. Whether a refresh prolongs it, only the next response shows.
    package var refreshToken: Duration?
    /// How long the refresh token may stay unused (`refresh_token_timeout`, draft-ietf-oauth-refresh-token-expiration).
    package var unusedRefreshToken: Duration?
    /// The lifetime of what the user has granted (`authorization_expires_in`, the same draft).
    package var authorization: Duration?

    /// Nothing is announced.
    package init() {}
}

extension AnnouncedLifetimes {
    init(_ response: ResponseObject) {
        func lifetime(_ name: String) -> Duration? {
            ((try? response.seconds(name, atLeast: 1)) ?? nil).map { .seconds($0) }
        }
        let names = ["refresh_token_expires_in", "x_refresh_token_expires_in", "refresh_expires_in"]
        refreshToken = names.lazy.compactMap(lifetime).first
        unusedRefreshToken = lifetime("refresh_token_timeout")
        authorization = lifetime("authorization_expires_in")
    }
}
