import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import TestFixtures
import Testing

/// RFC 9110 §10.2.3: an app's own HTTP client may report any number.
struct RetryAfterTests {
    /// Fails before anything is sent, with a wish of its own.
    private struct Overloaded: HTTPTransport {
        let retryAfter: Int

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            var error = AuthError(.transport, .token, "overloaded", outcome: .notSent, isTemporary: true)
            error.retryAfter = retryAfter
            throw error
        }
    }

    @Test(arguments: [(Int.max, 86_400), (86_401, 86_400), (86_400, 86_400), (7, 7), (0, 0), (-1, 0), (.min, 0)])
    func `a wish is from nothing to a day`(seconds: Int, kept: Int) {
        var error = AuthError(.transport, .token, "overloaded", retryAfter: seconds)
        #expect(error.retryAfter == kept)
        #expect(error.retryDelay == .seconds(kept))
        error.retryAfter = nil
        #expect(error.retryAfter == nil && error.retryDelay == nil)
        error.retryAfter = seconds
        #expect(error.retryAfter == kept)
    }

    @Test(arguments: [Int.max, 100, .min])
    func `a refresh waits as long as the app's HTTP client says, five minutes at most`(seconds: Int) async throws {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        let record = try AuthStateRecord(
            client: Client(id: "a", provider: provider), accessToken: nil, refreshToken: Secret("r"))
        let clock = TestClock()
        let state = try await AuthState(
            record: record, store: MemoryTokenStore(),
            environment: Environment(transport: Overloaded(retryAfter: seconds), now: { clock.timestamp }))
        let error = try #require(await authError { try await state.freshAccessToken() })
        let wait = min(max(seconds, 0), 300)
        #expect(error.retryDelay == .seconds(wait))
    }

    @Test(arguments: [Int.max, .min])
    func `a wait for a user takes any number`(seconds: Int) {
        var polling = PollingSchedule(interval: .seconds(5))
        let error = AuthError(
            .transport, .token, "overloaded", outcome: .notSent, isTemporary: true, retryAfter: seconds)
        let pause = Duration.seconds(seconds > 0 ? 86_400 : 10)
        #expect(polling.next(after: error) == .poll(after: pause, .connectionTrouble(error, pause: pause)))
    }
}
