package import AppAuthProtocol
internal import FoundationEssentials
internal import JOSE

/// Consecutive refresh failures that may be temporary, and the pause before the next attempt.
///
/// Stored with the session, so that all processes that share it spare a broken server together.
package struct RefreshBackoff: Sendable, Hashable {
    /// The number of failures in a row.
    package let count: Int
    /// The pause, which begins with the last failure.
    package let pause: Term
    private let code: AuthError.Code
    private let message: String
    private let outcome: AuthError.Outcome
    private let isTemporary: Bool
    /// The number of failures since the last success that were refusals of the provider's, or of its ID token.
    private let refusals: Int
    /// Whether each later refresh is expected to fail in the same way.
    package let isForGood: Bool
    private let httpStatus: Int?
    /// When the first response was lost that may have had the successor of the refresh token.
    package internal(set) var lost: Timestamp?

    /// The longest pause that the server did not ask for, in seconds.
    package static let longestPause = 60.0
    /// The longest pause that a server's `Retry-After` causes, in seconds. If a server or a proxy asks for a day, the
    /// user must not stay without tokens for a day after the server has recovered.
    package static let longestWish = 300.0

    /// - Parameters:
    ///   - isRefusal: Whether the provider, or the check of its ID token, has refused the refresh.
    ///   - isUnproven: Whether the refusal does not say yet that a new sign-in helps.
    ///   - jitter: 0 to 1. The processes of many machines must not return in step.
    package init(
        _ error: AuthError, after previous: RefreshBackoff?, isRefusal: Bool = false, isUnproven: Bool = false,
        at now: Timestamp, jitter: Double
    ) {
        count = min(previous?.count ?? 0, 1_000_000) + 1
        // No pause after the first failure, then 1 s, 2 s, 4 s, …
        let backoff = count < 2 ? 0 : min(Self.longestPause / 1.25, Double(1 << min(count - 2, 10))) * (1 + jitter / 4)
        let wish = min(Double(error.retryAfter ?? 0), Self.longestWish)
        pause = Term(from: now, for: .milliseconds(Int(max(backoff, wish) * 1000)))
        (code, message, outcome) = (error.code, error.message, error.outcome)
        (isTemporary, httpStatus) = (error.isTemporary, error.httpStatus)
        refusals = min(previous?.refusals ?? 0, 1_000_000) + (isRefusal ? 1 : 0)
        lost = previous?.lost ?? (error.outcome == .perhapsProcessed ? now : nil)
        // The first may be a fault of the moment.
        isForGood = error.isForGood || isRefusal && !isUnproven && refusals > 1
    }

    /// Whether only a new sign-in helps.
    var needsSignIn: Bool { error(message, outcome, at: pause.begin).needsSignIn }

    /// Whether the provider has refused the refresh token more than once. If it never worked, the client's registration may be
    /// wrong, or the token has ended.
    package var isRefusedAgain: Bool { refusals > 1 && outcome == .refused && !isTemporary }

    /// What happened, in one line.
    package var reason: String { message }

    /// Returns the error of the failure itself, for callers that waited for that refresh.
    package func error(at now: Timestamp) -> AuthError {
        error(message, outcome, at: now)
    }

    /// Returns the error for callers that come during the pause.
    ///
    /// - Parameter event: What happened to the refreshes.
    package func pauseError(at now: Timestamp, event: String = "failed") -> AuthError {
        let seconds = Int(pause.remaining(at: now).seconds.rounded(.up))
        let failures = count == 1 ? "the last refresh" : "the last \(count) refreshes"
        var error = error("\(failures) \(event), the next attempt is in \(seconds) s: \(message)", .notSent, at: now)
        error.isHeldBack = true
        return error
    }

    private func error(_ message: String, _ outcome: AuthError.Outcome, at now: Timestamp) -> AuthError {
        let remaining = pause.remaining(at: now)
        var error = AuthError(
            code, .refresh, message, outcome: outcome, isTemporary: isTemporary, httpStatus: httpStatus,
            retryAfter: remaining > .zero ? Int(remaining.seconds.rounded(.up)) : nil)
        error.refreshPause = remaining
        error.isForGood = isForGood
        return error
    }
}

extension RefreshBackoff {
    var stored: JSON {
        get throws {
            var json: JSON.Object = [
                "count": .number(.init(count)), "pause": try pause.stored, "code": .string(code.rawValue),
                "message": .string(message), "outcome": .string(outcome.rawValue),
            ]
            if !isTemporary { json["isTemporary"] = false }
            if refusals > 0 { json["refusals"] = .number(.init(refusals)) }
            if isForGood { json["isForGood"] = true }
            json["lost"] = try lost?.stored
            json["httpStatus"] = httpStatus.map { .number(.init($0)) }
            return .object(json)
        }
    }

    init(stored json: StoredObject) throws {
        guard let outcome = AuthError.Outcome(rawValue: try json.string("outcome")) else {
            throw StoredObject.Damage()
        }
        self.outcome = outcome
        count = try json.int("count")
        let stored = try Term(stored: json.object("pause"))
        pause = Term(from: stored.begin, for: min(stored.length, .seconds(Self.longestWish)))
        code = AuthError.Code(rawValue: try json.string("code"))
        message = try json.string("message")
        isTemporary = try json.optional("isTemporary") { try $0.bool($1) } ?? true
        refusals = try json.optional("refusals") { try $0.int($1) } ?? 0
        isForGood = try json.optional("isForGood") { try $0.bool($1) } ?? false
        lost = try json.optional("lost") { try Timestamp(stored: $0.object($1)) }
        httpStatus = try json.optional("httpStatus") { try $0.int($1) }
    }
}
