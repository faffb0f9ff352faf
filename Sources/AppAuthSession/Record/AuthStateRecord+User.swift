internal import AppAuthProtocol
internal import JOSE

extension AuthStateRecord {
    /// Whether both sessions are the same user's; nil if one of them does not say whose it is.
    package func isOfUser(of other: AuthStateRecord) -> Bool? {
        guard let idToken, let theirs = other.idToken else { return nil }
        return idToken.isAbout(userOf: theirs)
    }

    /// Throws if both sessions say whose they are, and that is not the same user.
    package func requireUser(of former: AuthStateRecord) throws {
        guard isOfUser(of: former) == false else { return }
        throw AuthError(
            .sessionReplaced, .store,
            "another user has signed in: \(userDescription), not \(former.userDescription). The stored session stays as "
                + "it was", outcome: .notSent)
    }

    /// What a provider knows the user by, for `login_hint`.
    package var loginHint: String? { idToken.flatMap { $0.claims.preferredUsername ?? $0.claims.email } }

    /// The signed-in user, for display.
    package var userDescription: String {
        guard let claims = idToken?.claims else { return "an unknown user (there is no ID token)" }
        let name = claims.name ?? claims.preferredUsername ?? claims.email
        let subject = claims.subject?.shownName ?? ""
        return name.map { "\($0.shownName), subject \(subject)" } ?? subject
    }
}
