public import AppAuthProtocol

/// A change of a session.
public enum SessionChange: Sendable {
    /// There are new tokens, from this process or from the store. The refresh token is stored. The rest is, too, unless
    /// ``storeFailed(_:)`` came before: it can be fetched again.
    case renewed(AuthStateRecord)
    /// This ``AuthState`` has no more tokens: the session has ended, was removed from the store, or was replaced by
    /// another sign-in. Restore the session from the store. If there is none, or if it has ended, the user has to sign in
    /// again.
    case ended(AuthStateRecord.End)
    /// A refresh failed for a reason that may go away. After ``AuthError/retryDelay``, a call sends the next one.
    ///
    /// After ``renewed(_:)``, it is the reason for which the ID token of that refresh could not be verified, for example
    /// because the provider's keys cannot be fetched. The claims stay as they were, and each later refresh verifies its
    /// ID token. This is reported once, until one is verified: see ``AuthStateRecord/idTokenError(at:)``.
    case refreshFailed(AuthError)
    /// The store has rejected new tokens or another change. The change is kept in memory. The next call tries to store it
    /// again, unless it is only an access token or claims, which can be fetched again. If it has a new refresh token, no
    /// caller gets the access token that came with it before it is stored.
    case storeFailed(AuthError)
}
