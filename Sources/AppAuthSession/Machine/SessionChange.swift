public import AppAuthProtocol

/// A change of a session.
public enum SessionChange: Sendable {
    /// There are new tokens, from this process or from the store. The refresh token is stored. The rest is, too, unless
    /// ``storeFailed(_:)`` came before: it can be fetched again.
    case renewed(AuthStateRecord)
    /// The session is over: the user has to sign in again.
    case ended(AuthStateRecord.End)
    /// A refresh failed for a reason that may go away; ``AuthError/nextAttempt`` says when the next one is made.
    case refreshFailed(AuthError)
    /// The store has rejected new tokens or another change. The change is kept in memory, and the next call tries to
    /// store it again. If it has a new refresh token, no caller gets the access token that came with it before.
    case storeFailed(AuthError)
}
