package import AppAuthProtocol
package import FoundationEssentials

/// The ends of a session that the provider has announced, computed from their lifetimes and this machine's clock.
///
/// A refresh whose response does not mention them changes them as follows:
/// - The end of the user's grant stays: using the grant does not prolong it.
/// - The end of the refresh token stays if the token does. It is forgotten with the token that it was about: nothing is known
///   of its successor, and the user must not be asked to sign in for nothing.
/// - The time for which the refresh token may stay unused begins again: it was used.
/// - The end of the user's session at the provider stays until an ID token announces another one.
package struct AnnouncedEnds: Sendable, Hashable {
    /// When the first one was announced.
    package private(set) var since: Date?
    /// The end of the refresh token.
    private var refreshToken: Term?
    /// The end of the refresh token as it was announced some time ago, for comparison with a later one.
    private var earlier: Term?
    /// Whether refreshes put off the end of the refresh token; nil as long as that is unknown.
    package private(set) var isProlonged: Bool?
    /// The time for which the refresh token may stay unused.
    private var unused: Term?
    /// The end of what the user has granted.
    private var authorization: Term?
    /// The end of the user's session at the provider.
    private var providerSession: Term?

    package init() {}

    /// The term of the session, which no refresh puts off, as far as is known.
    private var session: Term? {
        [authorization, providerSession, isProlonged == true ? nil : refreshToken].compactMap(\.self)
            .min { $0.end < $1.end }
    }

    /// The end that no refresh puts off, as far as is known.
    package var signIn: Date? { session?.end }

    /// The time until that end is near: three days before it, or in the last quarter of a shorter session.
    package func timeToWarn(at now: Timestamp) -> Duration? {
        guard let session, let since else { return nil }
        let whole = max(session.length, .seconds(session.end.timeIntervalSince(since)))
        let left =
            session.begin.greatestElapsed(until: now).map { session.length - $0 }
            ?? .seconds(session.end.timeIntervalSince(now.wall))
        return max(.zero, left - min(.seconds(3 * 86_400), whole / 4))
    }

    /// The term in which the refresh token has to be used, so that it does not expire; nil if it does not, or if that does not
    /// help.
    package var use: Term? {
        [unused, isProlonged == false ? nil : refreshToken].compactMap(\.self).min { $0.end < $1.end }
    }

    /// When that term ends; nil if the user has to sign in before.
    package var refresh: Date? {
        guard let end = use?.end, signIn.map({ end < $0 }) ?? true else { return nil }
        return end
    }

    /// - Parameters:
    ///   - sent: When the request was sent. Between this and `received`, the server has computed the lifetimes.
    ///   - received: When the response was received.
    ///   - isRotated: Whether there is a new refresh token.
    package mutating func merge(
        _ lifetimes: AnnouncedLifetimes, sent: Timestamp, received: Timestamp, isRotated: Bool
    ) {
        func term(_ length: Duration) -> Term { Term(from: received, for: length) }
        if let new = lifetimes.refreshToken.map(term) {
            refreshToken = new
            // At least this time has passed between the two announcements: this process may have been stopped before it read
            // the second one. Refreshes in quick succession say nothing, since servers round.
            let passed = earlier?.begin.elapsed(until: sent)
            if let passed, passed >= .seconds(120), let length = earlier?.length {
                isProlonged = new.length - (length - passed) > passed / 2
            }
            if passed.map({ $0 >= .seconds(120) }) ?? true { earlier = new }
        } else if isRotated {
            (refreshToken, earlier, isProlonged) = (nil, nil, nil)
        } else if refreshToken != nil {
            isProlonged = false
        }
        unused = (lifetimes.unusedRefreshToken ?? unused?.length).map(term)
        authorization = lifetimes.authorization.map(term) ?? authorization
        if refreshToken != nil || unused != nil || authorization != nil { since = since ?? received.wall }
    }

    /// Takes over the end that a new ID token announces.
    package mutating func merge(_ idToken: IDToken, received: Timestamp) {
        guard let lifetime = idToken.providerSessionLifetime else { return }
        (providerSession, since) = (Term(from: received, for: lifetime), since ?? received.wall)
    }
}

extension AnnouncedEnds {
    /// Nil if there is nothing to store.
    var stored: JSON? {
        get throws {
            guard let since else { return nil }
            var json: JSON.Object = ["since": try JSON(storing: since)]
            json["refreshToken"] = try refreshToken?.stored
            json["earlier"] = try earlier?.stored
            json["isProlonged"] = isProlonged.map(JSON.bool)
            json["unused"] = try unused?.stored
            json["authorization"] = try authorization?.stored
            json["providerSession"] = try providerSession?.stored
            return .object(json)
        }
    }

    init(stored json: StoredObject) throws {
        func term(_ name: String) throws -> Term? { try json.optional(name) { try Term(stored: $0.object($1)) } }
        since = try json.date("since")
        (refreshToken, earlier) = (try term("refreshToken"), try term("earlier"))
        isProlonged = try json.optional("isProlonged") { try $0.bool($1) }
        (unused, authorization) = (try term("unused"), try term("authorization"))
        providerSession = try term("providerSession")
    }
}

extension Term {
    /// The end by the wall clock.
    fileprivate var end: Date { begin.wall + length.seconds }
}
