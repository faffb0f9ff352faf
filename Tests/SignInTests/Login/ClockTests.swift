import Foundation
import JOSE
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import Testing

/// One of the two clocks is wrong: the line says so, and by how much.
@Suite(.timeLimit(.minutes(5)))
struct ClockTests {
    private static func moved(by seconds: Int, _ names: [String] = ["iat", "exp", "auth_time"]) -> Fault {
        .editIDToken { draft in
            for name in names {
                if let time = draft.claims[name]?.int { draft.claims[name] = .number(.init(time + seconds)) }
            }
        }
    }

    @Test(arguments: [(3600, "ahead of"), (-3600, "expired"), (-200_000, "ago")])
    func `a wrong clock ends the sign-in, with the measured skew`(seconds: Int, words: String) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(Self.moved(by: seconds), at: .token)
            let outcome = try await fixture.login()
            let message = try outcome.failure(1, "clock_skew")
            #expect(message.contains(words), "\(message)")
            let measured = try #require(message.firstMatch(of: /(\d+) s/).flatMap { Int($0.1) })
            #expect((abs(seconds) - 60...abs(seconds) + 60).contains(measured), "\(message)")
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test(arguments: [30, -30])
    func `a slightly wrong clock is accepted`(seconds: Int) async throws {
        try await withDesk { fixture in
            fixture.provider.fault(Self.moved(by: seconds), at: .token)
            try await fixture.signIn()
        }
    }

    @Test func `a refresh with a wrong clock returns the token, and keeps the claims`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.record()
            fixture.provider.fault(Self.moved(by: 3600, ["iat", "exp"]), at: .token)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            let after = try fixture.record()
            #expect(after.idToken == before.idToken && after.idTokenError(at: .current)?.code == .clockSkew)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
            #expect(try fixture.record().idTokenError(at: .current) == nil)
        }
    }
}
