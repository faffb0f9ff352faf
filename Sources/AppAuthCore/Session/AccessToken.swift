public import FoundationEssentials

/// An access token with what a caller needs to use it.
public struct AccessToken: Sendable, Hashable {
    /// The token itself.
    public let value: Secret
    /// How it is presented.
    public let type: TokenType
    /// When it was received, by this machine's clock.
    public let issuedAt: Date
    /// When it expires: receipt plus `expires_in`; nil if the server did not say.
    public let expiresAt: Date?

    /// Puts a token together.
    public init(value: Secret, type: TokenType = .bearer, issuedAt: Date, expiresAt: Date?) {
        (self.value, self.type, self.issuedAt, self.expiresAt) = (value, type, issuedAt, expiresAt)
    }

    /// The value of the `Authorization` header field (RFC 6750 §2.1).
    public var authorization: String { "\(type.rawValue) \(value.reveal())" }

    /// Whether it is past its end. One without an end never is.
    public func isExpired(at now: Date) -> Bool { expiresAt.map { now >= $0 } ?? false }

    /// Whether it is good for a while: for as long as the caller asks, else for 60 seconds, but at most for a tenth of
    /// its lifetime, so that tokens of a minute are not refreshed at each call.
    public func isFresh(at now: Date, minimumValidity: Duration? = nil) -> Bool {
        guard let expiresAt else { return true }
        let margin = minimumValidity?.seconds ?? min(60, expiresAt.timeIntervalSince(issuedAt) / 10)
        return !isExpired(at: now) && expiresAt.timeIntervalSince(now) >= margin
    }
}
