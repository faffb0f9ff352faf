public import AppAuthProtocol
public import FoundationEssentials

/// A verified logout token (OpenID Connect Back-Channel Logout §2.4): it comes from ``LogoutTokenVerifier`` alone.
public struct LogoutToken: Sendable, Hashable {
    /// Who issued it.
    public let issuer: String
    /// Whose sessions are over; nil if it names a session alone.
    public let subject: String?
    /// Which session is over; nil for all of the subject's.
    public let sessionID: String?
    /// Its name (`jti`).
    public let tokenID: String
    /// When it was issued.
    public let issuedAt: Date
    /// Until when it may be accepted.
    public let expiration: Date
    /// All its claims.
    public let claims: Claims
    /// The names of the tokens that the verifier has accepted.
    let seen: SeenTokens

    /// Lets the verifier accept the token once more, after sessions that it names could not be ended: the provider may post
    /// it again (§2.8). ``AuthState/end(by:)-(LogoutToken)`` does this by itself when it fails.
    public func release() { seen.forget(tokenID) }

    /// Whether both have the same claims.
    public static func == (left: LogoutToken, right: LogoutToken) -> Bool { left.claims == right.claims }

    /// Hashes the claims.
    public func hash(into hasher: inout Hasher) { hasher.combine(claims) }

    /// Whether the session of an ID token is one that it ends (§2.6, §2.7): the session that it names, or, if it names
    /// none, every session of its subject. Where the ID token names no session, the subject decides.
    public func names(_ idToken: IDToken) -> Bool {
        guard issuer.isExactly(idToken.issuer) else { return false }
        if let subject, !subject.isExactly(idToken.subject) { return false }
        guard let sessionID else { return true }
        guard let known = idToken.sessionID else { return subject != nil }
        return sessionID.isExactly(known)
    }
}

extension IDToken {
    /// The provider's name for the session (`sid`, Back-Channel Logout §2.1, Front-Channel Logout §3), if it says.
    public var sessionID: String? { claims["sid"]?.string }
}
