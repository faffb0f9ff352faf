import AppAuthProtocol
import TestFixtures
import Testing

/// The next step after each response (RFC 8628 §3.5), without a server.
struct PollingScheduleTests {
    private static func response(_ code: String, status: Int = 400, retryAfter: Int? = nil) -> AuthError {
        AuthError(
            AuthError.Code(rawValue: code), .token, "the provider returned \(code)", isTemporary: code == "slow_down",
            server: OAuthError(error: code), httpStatus: status, retryAfter: retryAfter)
    }

    private static func trouble(_ code: AuthError.Code = .transport, retryAfter: Int? = nil) -> AuthError {
        AuthError(code, .token, "connection refused", outcome: .notSent, isTemporary: true, retryAfter: retryAfter)
    }

    /// The pauses after these responses. The response that ends the polling ends the list.
    private static func pauses(_ responses: [AuthError], interval: Duration = .seconds(5)) -> [Duration] {
        var polling = PollingSchedule(interval: interval)
        var pauses: [Duration] = []
        for response in responses {
            guard case .poll(let pause, _) = polling.next(after: response) else { break }
            pauses.append(pause)
        }
        return pauses
    }

    private static func seconds(_ seconds: Int...) -> [Duration] { seconds.map { .seconds($0) } }

    @Test func `a pending authorization is asked for again after the interval`() {
        let pending = Self.response("authorization_pending")
        #expect(Self.pauses([pending, pending, pending]) == Self.seconds(5, 5, 5))
        var polling = PollingSchedule(interval: .seconds(5))
        #expect(polling.next(after: pending) == .poll(after: .seconds(5), .waiting))
    }

    @Test func `slow_down adds five seconds each time, permanently`() {
        let (pending, slower) = (Self.response("authorization_pending"), Self.response("slow_down"))
        #expect(Self.pauses([pending, slower, pending, slower, pending]) == Self.seconds(5, 10, 10, 15, 15))
        var polling = PollingSchedule(interval: .seconds(5))
        #expect(polling.next(after: slower) == .poll(after: .seconds(10), .slowedDown(interval: .seconds(10))))
    }

    @Test(arguments: [AuthError.Code.transport, .timeout, .invalidResponse])
    func `trouble doubles the pause up to a minute, and a response ends it`(code: AuthError.Code) {
        let trouble = Self.trouble(code)
        let pauses = Self.pauses([
            trouble, trouble, trouble, trouble, trouble, Self.response("authorization_pending"), trouble,
        ])
        #expect(pauses == Self.seconds(10, 20, 40, 60, 60, 5, 10))
        #expect(Self.pauses(Array(repeating: trouble, count: 1000)).last == .seconds(60))
    }

    @Test func `an interval of more than a minute is doubled once`() {
        #expect(Self.pauses([Self.trouble(), Self.trouble()], interval: .seconds(90)) == Self.seconds(180, 180))
    }

    @Test func `a slow_down ends the trouble before it, as any response does`() {
        #expect(Self.pauses([Self.trouble(), Self.response("slow_down"), Self.trouble()]) == Self.seconds(10, 10, 20))
    }

    @Test func `trouble after a slow_down starts from the longer interval`() {
        #expect(
            Self.pauses([Self.response("slow_down"), Self.trouble(), Self.response("authorization_pending")])
                == Self.seconds(10, 20, 10))
    }

    @Test func `the provider's Retry-After is kept to, and never shortens a pause`() {
        #expect(Self.pauses([Self.trouble(retryAfter: 33), Self.trouble(retryAfter: 1)]) == Self.seconds(33, 20))
        #expect(Self.pauses([Self.response("slow_down", status: 429, retryAfter: 30)]) == Self.seconds(30))
        #expect(Self.pauses([Self.response("authorization_pending", retryAfter: 8)]) == Self.seconds(8))
    }

    @Test(
        arguments: [
            ("expired_token", AuthError.Code.expiredToken, "Start a new sign-in"),
            ("code_expired", .expiredToken, "Start a new sign-in"),
            ("access_denied", .accessDenied, "you have denied access"),
            ("invalid_grant", .invalidGrant, "invalid_grant"),
            ("invalid_client", .invalidClient, "invalid_client"),
        ])
    func `a refusal ends it with its own code and the server's words`(
        error: String, code: AuthError.Code, words: String
    ) {
        var polling = PollingSchedule(interval: .seconds(5))
        guard case .end(let end) = polling.next(after: Self.response(error)) else {
            Issue.record("expected the end")
            return
        }
        #expect(end.code == code)
        #expect(end.message.contains(words), "\(end)")
        #expect(end.server?.error == error)
        #expect(end.httpStatus == 400)
        #expect(!end.isTemporary)
    }

    @Test func `trouble that time does not heal ends it`() {
        var polling = PollingSchedule(interval: .seconds(5))
        let error = AuthError(.transport, .token, "certificate not trusted", outcome: .notSent)
        #expect(polling.next(after: error) == .end(error))
    }
}
