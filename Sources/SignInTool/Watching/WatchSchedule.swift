package import AppAuth
package import FoundationEssentials
package import JOSE

/// What a watched session needs, and when. It only reads the session and the clock, and does nothing itself.
package struct WatchSchedule: Sendable {
    /// What the user should learn.
    package enum Need: Sendable, Hashable {
        /// Only a new sign-in helps.
        case signIn(reason: String)
        /// The provider has announced the end of the session.
        case signInBefore(Date)
        /// There has been no token for an hour, though the session has not ended.
        case refreshFails(reason: String)

        /// The name of the event.
        package var name: String {
            switch self {
            case .signIn: "sign_in_required"
            case .signInBefore: "sign_in_due"
            case .refreshFails: "refresh_failing"
            }
        }
    }

    /// A need, and how often the user has been told about it with this time.
    package struct Reminder: Sendable, Hashable {
        package let need: Need
        package let number: Int
    }

    /// The times after the first reminder of a sign-in at which the next ones follow.
    package static let repetitions: [Duration] = [.zero, .seconds(15 * 60), .seconds(3600), .seconds(86_400)]
    /// An outage that is shorter is not worth a word.
    static let outage = Duration.seconds(3600)

    private struct Failure: Sendable {
        let since: Timestamp
        let pause: Term
        let error: AuthError
    }

    private struct Told: Sendable {
        let session: String
        /// The name of the need: the user need not be told about each reason.
        let need: String
        let first: Timestamp
        var count = 0
    }

    private var record: AuthStateRecord
    /// The moment within each period in which a refresh may come, 0 to 1. Another one for each token, so that the programs
    /// of many users do not come in step.
    private var spread: Double
    private let random: (@Sendable () -> Double)?
    private var failure: Failure?
    private var told: Told?

    /// - Parameter random: Returns numbers from 0 to 1.
    package init(_ record: AuthStateRecord, random: (@Sendable () -> Double)? = nil) {
        (self.record, self.random, spread) = (record, random, random?() ?? record.spread)
    }

    /// Takes the session as the store has it now.
    package mutating func update(_ record: AuthStateRecord) {
        if record.accessToken != self.record.accessToken { (spread, failure) = (random?() ?? record.spread, nil) }
        self.record = record
    }

    package mutating func fail(_ error: AuthError, at now: Timestamp) {
        let since = failure?.since ?? now
        let passed = since.elapsed(until: now) ?? .zero
        // From ten seconds to a quarter of an hour: after a long outage, a little later does no harm. If the user is needed,
        // from a quarter of an hour to six.
        let (least, most) = error.needsSignIn ? (15 * 60, 6 * 3600) : (10, 15 * 60)
        let pause = max(.seconds(least), min(passed / 4, .seconds(most)), error.retryDelay ?? .zero)
        failure = Failure(
            since: since, pause: Term(from: now, for: pause * (1 + (random?() ?? .random(in: 0...1)) / 4)), error: error
        )
    }

    /// Whether the schedule knows no more than the store, the note, and the clock.
    package var isResting: Bool { failure == nil }

    /// What the user has been told, for the process that looks after the session next.
    package var note: JSON {
        get {
            guard let told, let first = try? told.first.stored else { return .null }
            return [
                "session": .string(told.session), "need": .string(told.need), "first": first,
                "count": .number(.init(told.count)),
            ]
        }
        set {
            guard let session = newValue["session"]?.string, let need = newValue["need"]?.string,
                let count = newValue["count"]?.int, let first = newValue["first"],
                let begin = try? Timestamp(stored: StoredObject(first))
            else { return }
            told = Told(session: session, need: need, first: begin, count: count)
        }
    }

    // MARK: - Refreshes

    /// Returns the time to the next refresh; nil if none helps, or none is necessary.
    package func timeToRefresh(at now: Timestamp) -> Duration? {
        // If the provider refuses every refresh, it may change its mind: the session stays, and so does the watch.
        guard record.renewsItself, record.end == nil else { return nil }
        // A refresh token that must be used from time to time is used in good time.
        let use = record.announced.use.map {
            max(.zero, $0.length * (0.6 + spread / 10) - ($0.begin.greatestElapsed(until: now) ?? $0.length))
        }
        guard let due = [use, timeToRefreshToken(at: now)].compactMap(\.self).min() else { return nil }
        let pause = record.refreshPause(at: now)?.retryDelay ?? .zero
        return max(due, pause, failure?.pause.remaining(at: now) ?? .zero, timeToNextToken(at: now))
    }

    /// The time until the token is old enough for a refresh. Whatever the provider announces, it is not refreshed at once.
    private func timeToNextToken(at now: Timestamp) -> Duration {
        guard let token = record.accessToken, let age = token.received.elapsed(until: now) else { return .zero }
        return min(.seconds(30), (token.lifetime ?? .seconds(60)) / 2) - age
    }

    /// A random moment in the last tenth of the token's lifetime. All other programs refresh it in the last minute, and should
    /// find a new one.
    private func timeToRefreshToken(at now: Timestamp) -> Duration? {
        guard let token = record.accessToken else { return .zero }
        // A token for one use is only refreshed for a caller.
        guard let lifetime = token.lifetime, lifetime > .zero, let remaining = token.validity(at: now) else {
            return nil
        }
        let least = min(.seconds(60), lifetime / 20)
        let due = max(.zero, remaining - least - (lifetime / 10 - least) * spread)
        return token.refreshIn == nil ? due : token.timeToRefresh(at: now).map { min($0, due) } ?? due
    }

    /// The validity that no token has but a new one; nil if the validity is unknown.
    package func validityOfNewToken(at now: Timestamp) -> Duration? {
        guard let token = record.accessToken else { return .zero }
        return token.validity(at: now).map { $0 + .seconds(1) }
    }

    // MARK: - Reminders

    /// Returns what to tell the user now; nil for nothing. It is then told.
    package mutating func remind(at now: Timestamp) -> Reminder? {
        guard let need = need(at: now) else {
            told = nil
            return nil
        }
        var told =
            self.told.flatMap { $0.session == record.id && $0.need == need.name ? $0 : nil }
            ?? Told(session: record.id, need: need.name, first: now)
        // After the machine slept through several times, once.
        let passed = told.first.elapsed(until: now) ?? .zero
        let count = max(told.count, need.times.count { $0 <= passed })
        defer { self.told = told }
        guard count > told.count else { return nil }
        told.count = count
        return Reminder(need: need, number: count)
    }

    /// What the user should know now.
    package func need(at now: Timestamp) -> Need? {
        if let reason = record.end?.reason ?? (record.needsSignIn ? record.backoff?.reason : nil) {
            return .signIn(reason: reason)
        }
        if !record.renewsItself, record.accessToken.map({ $0.isExpired(at: now) }) ?? true {
            return .signIn(reason: "the access token has expired, and the provider gave no refresh token")
        }
        if let end = record.announcedEnd, record.announced.timeToWarn(at: now) == .zero { return .signInBefore(end) }
        if let failure, let passed = failure.since.elapsed(until: now), passed >= Self.outage {
            return .refreshFails(reason: failure.error.message)
        }
        return nil
    }

    /// Returns the time to the next refresh or reminder; nil if nothing will happen.
    package func delay(at now: Timestamp) -> Duration? {
        let warning = record.end == nil ? record.announced.timeToWarn(at: now) : nil
        var moments = [warning, failure.map { Term(from: $0.since, for: Self.outage).remaining(at: now) }]
        if let told, let passed = told.first.elapsed(until: now), let need = need(at: now) {
            moments += need.times.map { Optional($0 - passed) }
        }
        if !record.renewsItself { moments.append(record.accessToken.flatMap { $0.validity(at: now) }) }
        // What is due already is a need, of which the user has been told.
        let reminder = moments.compactMap(\.self).filter { $0 > .zero }.min()
        return [timeToRefresh(at: now), reminder].compactMap(\.self).min()
    }
}

extension WatchSchedule.Need {
    /// When the user is told about it, from the first time on.
    fileprivate var times: [Duration] {
        if case .signIn = self { WatchSchedule.repetitions } else { [.zero] }
    }
}

extension AuthStateRecord {
    /// A number from 0 to 1 that is another one for each token, and the same in each process.
    fileprivate var spread: Double {
        let digest = Digest.sha256.hash(accessToken?.value.reveal() ?? id)
        return Double(digest[0]) / 256 + Double(digest[1]) / 65_536
    }
}
