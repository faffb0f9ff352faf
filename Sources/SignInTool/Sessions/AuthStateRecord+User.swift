internal import AppAuth

extension AuthStateRecord {
    /// Throws if this session must not take the place of another one, because it has no refresh token any more.
    func requireRefreshToken(of former: AuthStateRecord) throws {
        guard former.refreshToken == nil || refreshToken != nil else {
            throw AuthError(
                .sessionReplaced, .store,
                "the new session would have no refresh token. The stored session stays as it was", outcome: .notSent)
        }
    }

    /// Throws if this session comes from another user of an identity provider (OpenID Connect Core §5.7).
    func requireSource(_ found: AssertionDemand.User) throws {
        guard let user = grant?.assertionUser, user != found else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "the session is for another user: \(user.foundText), not \(found.foundText). It stays as it was",
            outcome: .notSent)
    }
}
