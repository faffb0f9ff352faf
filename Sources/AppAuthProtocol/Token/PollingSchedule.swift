/// The intervals at which the token endpoint is polled while the user decides (RFC 8628 §3.5, CIBA Core §11). A value
/// without clock and network: each response determines the next step.
package struct PollingSchedule: Sendable, Hashable {
    /// The pause between the end of a response and the next poll.
    package private(set) var interval: Duration
    /// The number of consecutive failures.
    package private(set) var failures = 0

    /// The next step after a response.
    package enum Next: Sendable, Hashable {
        case poll(after: Duration, PollingProgress)
        case end(AuthError)
    }

    /// The longest pause after a failure, unless the provider asks for more: the user is waiting.
    private static let longestPause = Duration.seconds(60)
    /// The limit of doublings, enough to exceed the longest pause with any interval.
    private static let mostDoublings = 6

    package init(interval: Duration) { self.interval = interval }

    /// Processes a response without tokens, and returns the next step.
    package mutating func next(after error: AuthError) -> Next {
        switch error.code.rawValue {
        case "authorization_pending":
            failures = 0
            return .poll(after: pause(interval, error), .waiting)
        // §3.5: for this request and all subsequent ones.
        case "slow_down":
            failures = 0
            interval += .seconds(5)
            return .poll(after: pause(interval, error), .slowedDown(interval: interval))
        // Microsoft Entra has another code for it.
        case AuthError.Code.expiredToken.rawValue, "code_expired": return .end(.expiredApproval(error))
        case AuthError.Code.accessDenied.rawValue: return .end(.deniedByUser(error))
        default:
            // §3.5: on a connection timeout the client MUST poll less often; doubling the interval is RECOMMENDED. The
            // same applies here to servers that are down or overloaded.
            // The user is there, and can do something about a certificate.
            guard error.isTemporary, error.connectionProblem?.isOfCertificate != true else { return .end(error) }
            failures = min(failures + 1, Self.mostDoublings)
            let doubled = interval * (1 << failures)
            let pause = pause(min(doubled, max(Self.longestPause, interval * 2)), error)
            return .poll(after: pause, .connectionTrouble(error, pause: pause))
        }
    }

    /// Returns the pause, extended to the provider's `Retry-After` (RFC 9110 §10.2.3).
    private func pause(_ duration: Duration, _ error: AuthError) -> Duration {
        max(duration, .seconds(error.retryAfter ?? 0))
    }
}

extension AuthError.Code {
    /// The sign-in was not approved in time (RFC 8628 §3.5, CIBA Core §11).
    public static let expiredToken: AuthError.Code = "expired_token"
}

extension AuthError {
    /// - Parameter cause: The provider's response; nil if the time ran out locally.
    static func expiredApproval(_ cause: AuthError? = nil) -> AuthError {
        AuthError(
            .expiredToken, .token,
            "the sign-in was not approved in time. Start a new sign-in", server: cause?.server,
            httpStatus: cause?.httpStatus)
    }

    fileprivate static func deniedByUser(_ cause: AuthError) -> AuthError {
        AuthError(
            .accessDenied, .token, cause.server?.denial ?? cause.message, server: cause.server,
            httpStatus: cause.httpStatus)
    }
}
