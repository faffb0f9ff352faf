internal import AppAuth

extension AuthStateRecord {
    /// Throws if this session must not take the place of another one: it is another user's, or has no refresh token any
    /// more.
    func requireContinuation(of former: AuthStateRecord) throws {
        try requireUser(of: former)
        guard former.refreshToken == nil || refreshToken != nil else {
            throw AuthError(
                .sessionReplaced, .store,
                "the new session would have no refresh token. The stored session stays as it was", outcome: .notSent)
        }
    }

    /// Whether both sessions are the same user's; nil if one of them does not say whose it is.
    func isOfUser(of other: AuthStateRecord) -> Bool? {
        guard let user = idToken, let found = other.idToken else { return nil }
        // OpenID Connect Core §5.7: the issuer, which may be a tenant's, and the subject together identify the user.
        return found.subject.isExactly(user.subject) && found.issuer.isExactly(user.issuer)
    }

    /// Throws if both sessions say whose they are, and that is not the same user.
    func requireUser(of former: AuthStateRecord) throws {
        guard isOfUser(of: former) == false else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "another user has signed in: \(userDescription), not \(former.userDescription). The stored session stays as "
                + "it was", outcome: .notSent)
    }

    /// Throws if this session comes from another user of an identity provider (OpenID Connect Core §5.7).
    func requireSource(_ found: AssertionDemand.User) throws {
        guard let user = grant?.assertionUser, user != found else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "the session is for another user: \(user.foundText), not \(found.foundText). It stays as it was",
            outcome: .notSent)
    }

    /// What a provider knows the user by, for `login_hint`.
    var loginHint: String? { idToken.flatMap { $0.claims.preferredUsername ?? $0.claims.email } }
}
