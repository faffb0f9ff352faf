public import FoundationEssentials

/// An access token with what a caller needs to use it.
public struct AccessToken: Sendable, Hashable {
    /// In a place of its own, so that the thousands who may wait for a token have no room for one each.
    private let content: Content

    private final class Content: Sendable {
        let value: Secret
        let type: TokenType
        let received: Timestamp
        let lifetime: Duration?
        let serverDate: Date?

        init(_ value: Secret, _ type: TokenType, _ received: Timestamp, _ lifetime: Duration?, _ serverDate: Date?) {
            (self.value, self.type, self.received) = (value, type, received)
            (self.lifetime, self.serverDate) = (lifetime, serverDate)
        }
    }

    /// The token itself.
    public var value: Secret { content.value }
    /// How it is presented.
    public var type: TokenType { content.type }
    /// When it was received.
    public var received: Timestamp { content.received }
    /// How long it is good for from then on; nil if the server did not say.
    public var lifetime: Duration? { content.lifetime }
    /// When the server says that it issued it, if its clock is to be believed.
    package var serverDate: Date? { content.serverDate }

    /// Puts a token together.
    public init(value: Secret, type: TokenType = .bearer, received: Timestamp, lifetime: Duration?) {
        self.init(value: value, type: type, received: received, lifetime: lifetime, serverDate: nil)
    }

    package init(value: Secret, type: TokenType, received: Timestamp, lifetime: Duration?, serverDate: Date?) {
        content = Content(value, type, received, lifetime, serverDate)
    }

    /// Whether two are the same token, received at the same time.
    public static func == (left: AccessToken, right: AccessToken) -> Bool {
        left.content === right.content
            || (left.value == right.value && left.type == right.type && left.received == right.received
                && left.lifetime == right.lifetime && left.serverDate == right.serverDate)
    }

    /// Hashes the token.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// A token that came from elsewhere, of which no more is known than when it ends.
    public init(value: Secret, type: TokenType = .bearer, issuedAt: Date, expiresAt: Date?) {
        self.init(
            value: value, type: type, received: Timestamp(wall: issuedAt),
            lifetime: expiresAt.map { Duration(from: issuedAt, to: $0) })
    }

    /// When it was issued: by the server's clock if that is known, else by this machine's.
    public var issuedAt: Date { serverDate ?? received.wall }

    /// When it expires, as a date to show. Whether it *has* expired is for ``isExpired(at:)`` to say.
    public var expiresAt: Date? { lifetime.map { issuedAt + $0.seconds } }

    /// The value of the `Authorization` header field (RFC 6750 §2.1, RFC 9449 §7.1).
    public var authorization: String { "\(type.rawValue) \(value.reveal())" }

    /// Whether it is past its end. One without an end never is, nor one of which nobody can tell.
    public func isExpired(at now: Timestamp) -> Bool {
        guard let lifetime, let age = age(at: now) else { return false }
        return age >= lifetime
    }

    /// Whether it is good for a while: for as long as the caller asks, else for 60 seconds, but at most for a tenth of
    /// its lifetime, so that tokens of a minute are not refreshed at each call. One of which nobody can tell is not.
    public func isFresh(at now: Timestamp, minimumValidity: Duration? = nil) -> Bool {
        guard let lifetime else { return true }
        guard let age = age(at: now), age < lifetime else { return false }
        return lifetime - age >= minimumValidity ?? min(.seconds(60), lifetime / 10)
    }

    /// How old it is; nil if nobody can tell. After a restart of the machine either clock may have been put right since:
    /// the greater age counts, since a refresh too many harms nobody.
    private func age(at now: Timestamp) -> Duration? {
        guard let age = received.elapsed(until: now) else { return nil }
        guard !received.isInSameBoot(as: now), let serverDate else { return age }
        return max(age, Duration(from: serverDate, to: now.wall))
    }
}
