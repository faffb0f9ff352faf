public import FoundationEssentials

/// An access token, with its type and lifetime.
public struct AccessToken: Sendable, Hashable {
    /// A reference, so that an access token takes one word: thousands of tasks may wait for one.
    private let content: Content

    private final class Content: Sendable {
        let value: Secret
        let type: TokenType
        let received: Timestamp
        let lifetime: Duration?
        let refreshIn: Duration?
        let serverDate: Date?

        init(
            _ value: Secret, _ type: TokenType, _ received: Timestamp, _ lifetime: Duration?, _ refreshIn: Duration?,
            _ serverDate: Date?
        ) {
            (self.value, self.type, self.received) = (value, type, received)
            (self.lifetime, self.refreshIn, self.serverDate) = (lifetime, refreshIn, serverDate)
        }
    }

    /// The token itself.
    public var value: Secret { content.value }
    /// How the token is presented.
    public var type: TokenType { content.type }
    /// When the token was received.
    public var received: Timestamp { content.received }
    /// How long the token is valid from receipt; nil if the server did not say.
    public var lifetime: Duration? { content.lifetime }
    /// When the server wants the token to be refreshed, from receipt, although it is still valid; nil if it did not say.
    package var refreshIn: Duration? { content.refreshIn }
    /// The server's time when it issued the token; nil if its clock is unknown or implausible.
    package var serverDate: Date? { content.serverDate }

    /// Creates a token that was received now or earlier.
    public init(value: Secret, type: TokenType = .bearer, received: Timestamp, lifetime: Duration?) {
        self.init(value: value, type: type, received: received, lifetime: lifetime, serverDate: nil)
    }

    package init(
        value: Secret, type: TokenType, received: Timestamp, lifetime: Duration?, refreshIn: Duration? = nil,
        serverDate: Date?
    ) {
        content = Content(value, type, received, lifetime, refreshIn, serverDate)
    }

    /// Returns whether two values are the same token, received at the same time.
    public static func == (left: AccessToken, right: AccessToken) -> Bool {
        left.content === right.content
            || (left.value == right.value && left.type == right.type && left.received == right.received
                && left.lifetime == right.lifetime && left.refreshIn == right.refreshIn
                && left.serverDate == right.serverDate)
    }

    /// Hashes the token.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// Creates a token from another source, of which only the dates are known.
    public init(value: Secret, type: TokenType = .bearer, issuedAt: Date, expiresAt: Date?) {
        self.init(
            value: value, type: type, received: Timestamp(wall: issuedAt),
            lifetime: expiresAt.map { Duration(from: issuedAt, to: $0) })
    }

    /// When the token was issued: by the server's clock if that is known, otherwise by this machine's.
    public var issuedAt: Date { serverDate ?? received.wall }

    /// The expiration date by the clock of this machine, for display and for other programs here. To find out whether the
    /// token has expired, call ``isExpired(at:)``.
    public var expiresAt: Date? { lifetime.map { received.wall + $0.seconds } }

    /// The value of the `Authorization` header field (RFC 6750 §2.1, RFC 9449 §7.1).
    public var authorization: String { "\(type.rawValue) \(value.reveal())" }

    /// Whether the server has issued the token as expired (`expires_in` 0 or less): it goes to the callers who have
    /// waited for it, and to no later one.
    package var isForOneUse: Bool { lifetime == .zero }

    /// Returns whether the token has expired; false if its lifetime is unknown or its age cannot be determined.
    public func isExpired(at now: Timestamp) -> Bool {
        guard let lifetime, let age = age(at: now) else { return false }
        return age >= lifetime
    }

    /// Returns whether the token stays valid for at least `minimumValidity`.
    ///
    /// The default is 60 seconds, but at most a tenth of the lifetime: a token that lasts a minute is not refreshed at
    /// each call. By default, it is also not fresh from the time at which the server wants it to be refreshed
    /// (`refresh_in`), though never in the first tenth of the lifetime. Returns true if the lifetime is unknown, and
    /// false if the age cannot be determined.
    public func isFresh(at now: Timestamp, minimumValidity: Duration? = nil) -> Bool {
        guard let lifetime else { return true }
        guard let age = greatestAge(at: now), age < lifetime else { return false }
        if let minimumValidity { return lifetime - age >= minimumValidity }
        if let refreshIn, age >= max(refreshIn, lifetime / 10) { return false }
        return lifetime - age >= min(.seconds(60), lifetime / 10)
    }

    /// Returns how long the token is still valid: zero if that cannot be determined, and nil if its lifetime is unknown.
    package func validity(at now: Timestamp) -> Duration? {
        lifetime.map { max(.zero, $0 - (greatestAge(at: now) ?? $0)) }
    }

    /// Returns whether the token stays valid for this long, without regard to the wall clock; false if its age cannot be
    /// determined.
    package func lasts(_ time: Duration, at now: Timestamp) -> Bool {
        guard let lifetime else { return true }
        return age(at: now).map { lifetime - $0 >= time } ?? false
    }

    /// Returns how long the token stays fresh by default: zero if it is not fresh, and nil if its lifetime is unknown.
    package func timeToRefresh(at now: Timestamp) -> Duration? {
        guard let lifetime else { return nil }
        guard let age = greatestAge(at: now) else { return .zero }
        let latest = lifetime - min(.seconds(60), lifetime / 10)
        return max(.zero, min(latest, refreshIn.map { max($0, lifetime / 10) } ?? latest) - age)
    }

    /// Returns the token's age; nil if it cannot be determined. After a reboot, either clock may have been corrected
    /// since receipt. The greater age counts, because an unnecessary refresh does no harm.
    private func age(at now: Timestamp) -> Duration? {
        guard let age = received.elapsed(until: now) else { return nil }
        guard !received.isInSameBoot(as: now), let serverDate else { return age }
        return max(age, Duration(from: serverDate, to: now.wall))
    }

    /// Returns the age from which the token may need a refresh; nil if it cannot be determined.
    private func greatestAge(at now: Timestamp) -> Duration? {
        guard received.isInSameBoot(as: now) else { return age(at: now) }
        return received.greatestElapsed(until: now, orSince: serverDate)
    }
}
