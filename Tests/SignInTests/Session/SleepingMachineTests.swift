import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A laptop that was closed for two hours: its wall clock may say anything, the time since it was started has gone on.
@Suite(.timeLimit(.minutes(5)))
struct SleepingMachineTests {
    @Test(
        .enabled("the kernel lends no clock of its own to a process (unshare --time)") {
            try await Namespace.isPossible(Namespace.later(by: 7200))
        })
    func `a token that expired during sleep is refreshed, although the wall clock has not moved`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let first = try #require(try fixture.record().accessToken).value.reveal()
            // It is valid for an hour, and so still after half of one.
            #expect(try await token(fixture, after: 1800) == first)
            #expect(fixture.provider.count(.token) == 1)
            let second = try await token(fixture, after: 7200)
            #expect(second != first && fixture.provider.isAlive(second))
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test(
        .enabled("the kernel lends no clock of its own to a process (unshare --time)") {
            try await Namespace.isPossible(Namespace.later(by: 7200))
        })
    func `a failure in a container with its own clock delays no refresh outside`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.unavailable(retryAfter: 1), at: .token, times: 2)
            let refresh = ["token", "--json", "--force-refresh"]
            let container = Namespace.later(by: 86_400) + [try BuiltProducts.path("sign-in")]
            for _ in 0..<2 { _ = try await fixture.start(container, refresh).outcome().failure(1, "invalid_response") }
            #expect(fixture.provider.count(.token) == 3)
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
            #expect(fixture.provider.count(.token) == 4)
        }
    }

    private func token(_ fixture: CommandFixture, after seconds: Int) async throws -> String {
        let prefix = Namespace.later(by: seconds) + [try BuiltProducts.path("sign-in")]
        let outcome = try await fixture.start(prefix, ["token", "--json"]).outcome()
        return try #require(try outcome.result()["access_token"]?.string)
    }
}
