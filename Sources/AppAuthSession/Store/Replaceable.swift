internal import AppAuthProtocol

/// The session that a new one may replace in the store. A sign-in takes minutes, in which another one may have stored a
/// session of another user, or for other resources.
package struct Replaceable: Sendable {
    private let former: AuthStateRecord?
    /// The profile of the new session: by default, that of the one whose place it takes.
    package var profileID: String?
    private let mustBeThere: Bool

    /// Allows to replace the session that the store has now.
    package init(in store: any TokenStore) async {
        // One that is damaged is refused, or replaced, when the store is written.
        self.init(try? await store.load(TokenStoreCall(isUnattended: true)))
    }

    /// Allows to replace this session, which the store has now; nil for none.
    init(_ former: AuthStateRecord?) { self.init(former, mustBeThere: false) }

    /// Allows to go on with a session that must still be there.
    package init(continuing former: AuthStateRecord) { self.init(former, mustBeThere: true) }

    private init(_ former: AuthStateRecord?, mustBeThere: Bool) {
        (self.former, self.mustBeThere, profileID) = (former, mustBeThere, former?.profileID)
    }

    /// Throws if the new session may not replace what is stored.
    func check(_ stored: AuthStateRecord?, for new: AuthStateRecord) throws {
        guard let stored else {
            guard mustBeThere else { return }
            throw Self.refusal("the session was signed out of in the meantime. Nothing is stored")
        }
        // Without ID tokens, it could be another user's, who has signed in while the request waited.
        let mayBeAnothers = mustBeThere && (stored.idToken == nil || new.idToken == nil)
        guard stored.id != former?.id, mayBeAnothers || !stored.isLike(new) else { return }
        throw Self.refusal(
            "another sign-in has stored a session in the meantime, for something else or of another user. It stays as it "
                + "was")
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.sessionReplaced, .store, message, outcome: .notSent)
    }
}

extension AuthStateRecord {
    /// Whether both are sessions of the same client and profile for the same resources, and, as far as they say, of the same
    /// user.
    fileprivate func isLike(_ other: Self) -> Bool {
        client.id == other.client.id && profileID == other.profileID && Set(resources) == Set(other.resources)
            && grant?.assertionUser == other.grant?.assertionUser && mayShareGrant(with: other)
    }
}
