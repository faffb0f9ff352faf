public import AppAuthProtocol
public import FoundationEssentials

/// A verified logout token (OpenID Connect Back-Channel Logout §2.4). Only ``LogoutTokenVerifier`` creates one.
public struct LogoutToken: Sendable, Hashable {
    /// The issuer.
    public let issuer: String
    /// The user whose sessions are over; nil if the token names only a session.
    public let subject: String?
    /// The session that is over; nil for all sessions of the user.
    public let sessionID: String?
    /// The token's ID (`jti`).
    public let tokenID: String
    /// When the token was issued.
    public let issuedAt: Date
    /// When the token expires; nil if the provider has not said. The verifier accepts no old token in either case.
    public let expiration: Date?
    /// All claims.
    public let claims: Claims
    /// The IDs of the tokens that the verifier has accepted.
    let seen: SeenTokens

    /// Lets the verifier accept the token again, if one of its sessions could not be ended: the provider may repeat the
    /// request (§2.8). ``AuthState/end(by:)-(LogoutToken)`` calls this if it fails.
    public func release() { seen.forget(tokenID) }

    /// Returns whether both tokens have the same claims.
    public static func == (left: LogoutToken, right: LogoutToken) -> Bool { left.claims == right.claims }

    /// Hashes the claims.
    public func hash(into hasher: inout Hasher) { hasher.combine(claims) }

    /// Returns whether this token ends the session of an ID token (§2.6, §2.7).
    ///
    /// It ends the session that it names or, if it names none, every session of its user. If the ID token names no
    /// session, the user decides.
    public func names(_ idToken: IDToken) -> Bool {
        guard issuer.isExactly(idToken.issuer) else { return false }
        if let subject, !subject.isExactly(idToken.subject) { return false }
        guard let sessionID else { return true }
        guard let known = idToken.sessionID else { return subject != nil }
        return sessionID.isExactly(known)
    }
}

extension IDToken {
    /// The provider's ID of the session (`sid`, Back-Channel Logout §2.1, Front-Channel Logout §3), if present.
    public var sessionID: String? { claims.members[nonEmpty: "sid"]?.exactString }
}
