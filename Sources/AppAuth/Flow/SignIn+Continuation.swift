internal import AppAuthProtocol
public import AppAuthSession

extension SignIn {
    /// Signs the user of a session in again, and goes on with the session: for more scopes, for a stronger sign-in, or because
    /// the provider has ended it.
    ///
    /// The browser may be signed in at the provider as another user. Then nothing is stored, and nothing is revoked. The
    /// user is suggested to the provider (`login_hint`), unless ``options`` suggests another.
    ///
    /// - Throws: As ``run(store:)``, and ``AuthError`` with ``AuthError/Code/sessionReplaced`` if another user has signed in,
    ///   or if the store has the session no longer.
    public func run(continuing state: AuthState, store: any TokenStore) async throws -> AuthState {
        try await continuing(state.record).run(store: store)
    }

    /// Returns the sign-in that goes on with a session, as ``run(continuing:store:)`` does.
    package func continuing(_ former: AuthStateRecord) -> SignIn {
        var signIn = self
        signIn.options.loginHint = options.loginHint ?? former.loginHint
        signIn.replaceable = Replaceable(continuing: former)
        signIn.confirm = { [confirm] state in
            try await state.record.requireUser(of: former)
            try await confirm(state)
        }
        return signIn
    }
}
