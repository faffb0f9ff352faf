/// How often the token endpoint is asked while a person decides elsewhere (RFC 8628 §3.5, CIBA Core §11): a value without clock
/// and network, to which each response says how to go on.
package struct PollingSchedule: Sendable, Hashable {
    /// Between the end of a response and the next question.
    package private(set) var interval: Duration
    /// How many times in a row no proper response came.
    package private(set) var failures = 0

    /// What follows a response.
    package enum Next: Sendable, Hashable {
        case poll(after: Duration, PollingOptions.Progress)
        case end(AuthError)
    }

    /// Longer than this no failure makes the pause, unless the provider asks for more: the person is waiting.
    private static let longestPause = Duration.seconds(60)
    /// So many doublings are more than the longest pause, whatever the interval.
    private static let mostDoublings = 6

    package init(interval: Duration) { self.interval = interval }

    /// Takes a response that holds no tokens into account, and says what follows it.
    package mutating func next(after error: AuthError) -> Next {
        switch error.code.rawValue {
        case "authorization_pending":
            failures = 0
            return .poll(after: pause(interval, error), .waiting)
        // §3.5: for this and all that follow.
        case "slow_down":
            failures = 0
            interval += .seconds(5)
            return .poll(after: pause(interval, error), .slowedDown(interval: interval))
        case AuthError.Code.expiredToken.rawValue: return .end(.expiredApproval(error))
        case AuthError.Code.accessDenied.rawValue: return .end(.refusedByPerson(error))
        default:
            // §3.5: on a connection timeout the client MUST poll less often; doubling the interval is RECOMMENDED.
            // Servers that are down or overloaded deserve the same.
            guard error.isTemporary else { return .end(error) }
            failures = min(failures + 1, Self.mostDoublings)
            let doubled = interval * (1 << failures)
            let pause = pause(min(doubled, max(Self.longestPause, interval * 2)), error)
            return .poll(after: pause, .connectionTrouble(error, pause: pause))
        }
    }

    /// Never sooner than the provider asks for by `Retry-After` (RFC 9110 §10.2.3).
    private func pause(_ duration: Duration, _ error: AuthError) -> Duration {
        max(duration, .seconds(error.retryAfter ?? 0))
    }
}

extension PollingOptions {
    /// What the wait for the person has come to.
    public enum Progress: Sendable, Hashable {
        /// Nobody has decided yet (`authorization_pending`).
        case waiting
        /// The provider wants to be asked less often from now on (`slow_down`).
        case slowedDown(interval: Duration)
        /// The provider could not be reached or could not answer. The wait goes on after a pause.
        case connectionTrouble(AuthError, pause: Duration)
    }
}

extension AuthError.Code {
    /// Nobody approved the sign-in in time (RFC 8628 §3.5, CIBA Core §11).
    public static let expiredToken: AuthError.Code = "expired_token"
}

extension AuthError {
    /// - Parameter cause: The provider's response; nil if the time has run out here.
    static func expiredApproval(_ cause: AuthError? = nil) -> AuthError {
        AuthError(
            .expiredToken, .token,
            "the sign-in was not approved in time: start again for a new one", server: cause?.server,
            httpStatus: cause?.httpStatus)
    }

    fileprivate static func refusedByPerson(_ cause: AuthError) -> AuthError {
        AuthError(
            .accessDenied, .token,
            "the sign-in was refused by the person or the provider\(cause.server.map { " (\($0.summary))" } ?? "")",
            server: cause.server, httpStatus: cause.httpStatus)
    }
}
