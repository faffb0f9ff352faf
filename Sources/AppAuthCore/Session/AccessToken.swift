public import FoundationEssentials

/// An access token with what a caller needs to use it.
public struct AccessToken: Sendable, Hashable {
    /// The token itself.
    public let value: Secret
    /// How it is presented.
    public let type: TokenType
    /// When it was received.
    public let received: Moment
    /// How long it is good for from then on; nil if the server did not say.
    public let lifetime: Duration?
    /// When the server says that it issued it, if its clock is to be believed.
    package let serverDate: Date?

    /// Puts a token together.
    public init(value: Secret, type: TokenType = .bearer, received: Moment, lifetime: Duration?) {
        self.init(value: value, type: type, received: received, lifetime: lifetime, serverDate: nil)
    }

    package init(value: Secret, type: TokenType, received: Moment, lifetime: Duration?, serverDate: Date?) {
        (self.value, self.type) = (value, type)
        (self.received, self.lifetime, self.serverDate) = (received, lifetime, serverDate)
    }

    /// A token that came from elsewhere, of which no more is known than when it ends.
    public init(value: Secret, type: TokenType = .bearer, issuedAt: Date, expiresAt: Date?) {
        self.init(
            value: value, type: type, received: Moment(wall: issuedAt),
            lifetime: expiresAt.map { Duration(from: issuedAt, to: $0) })
    }

    /// When it was issued: by the server's clock if that is known, else by this machine's.
    public var issuedAt: Date { serverDate ?? received.wall }

    /// When it expires, as a date to show. Whether it *has* expired is for ``isExpired(at:)`` to say.
    public var expiresAt: Date? { lifetime.map { issuedAt + $0.seconds } }

    /// The value of the `Authorization` header field (RFC 6750 §2.1).
    public var authorization: String { "\(type.rawValue) \(value.reveal())" }

    /// Whether it is past its end. One without an end never is, nor one of which nobody can tell.
    public func isExpired(at now: Moment) -> Bool {
        guard let lifetime, let age = age(at: now) else { return false }
        return age >= lifetime
    }

    /// Whether it is good for a while: for as long as the caller asks, else for 60 seconds, but at most for a tenth of
    /// its lifetime, so that tokens of a minute are not refreshed at each call. One of which nobody can tell is not.
    public func isFresh(at now: Moment, minimumValidity: Duration? = nil) -> Bool {
        guard let lifetime else { return true }
        guard let age = age(at: now), age < lifetime else { return false }
        return lifetime - age >= minimumValidity ?? min(.seconds(60), lifetime / 10)
    }

    /// How old it is; nil if nobody can tell. After a restart of the machine either clock may have been put right since:
    /// the greater age counts, since a refresh too many harms nobody.
    private func age(at now: Moment) -> Duration? {
        guard let age = received.elapsed(until: now) else { return nil }
        guard received.boot.isEmpty || received.boot != now.boot, let serverDate else { return age }
        return max(age, Duration(from: serverDate, to: now.wall))
    }
}
