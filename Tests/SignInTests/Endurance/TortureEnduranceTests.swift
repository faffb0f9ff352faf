import JOSE
import Foundation
import AppAuthTestProvider
import Testing

/// Hundreds of rounds of real processes that share one session, at a provider that rotates refresh tokens and ends the
/// family of one that is used twice, while everything goes wrong that can.
///
/// `APPAUTH_TORTURE_SEED` repeats a run, `APPAUTH_TORTURE_ROUNDS` makes it longer: it is the number of rounds at each of
/// four desks.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct TortureEnduranceTests {
    @Test func `fifty processes with an expired token get one new one, by one refresh`() async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 1)
            for _ in 0..<3 {
                try torture.expire()
                let processes = try (0..<50).map { _ in try torture.token() }
                var tokens: Set<String> = []
                for process in processes { tokens.insert(try await torture.printed(process)) }
                #expect(tokens.count == 1)
                #expect(torture.newRefreshes == 1)
                try torture.check()
            }
        }
    }

    /// Without a grace period a response that is lost is a session that is lost: nothing that a client can do changes that.
    /// So the rounds run with a grace period for the old token, and no round may lose the session.
    @Test func `the session survives every failure of a process or a server`() async throws {
        let rounds = ProcessInfo.processInfo.environment["APPAUTH_TORTURE_ROUNDS"].flatMap(Int.init) ?? 50
        try await withDesks(4, .torture(grace: 3600), seed: .torture) { torture in
            print("torture: \(rounds) rounds, APPAUTH_TORTURE_SEED=\(torture.seed)")
            for round in 1...rounds {
                try await torture.round(torture.any(TortureFault.allCases), "round \(round)")
                guard torture.isFine else { return }
            }
            torture.report()
        }
    }

    /// The same without a grace period, and only with accidents after which the provider still honours the session.
    @Test func `a request that the server did not see costs nothing, even with a strict server`() async throws {
        let harmless: [TortureFault] = [
            .refused, .busy, .storm, .fullDisk, .fillingDisk, .clock, .herd, .late, .duplicated,
        ]
        try await withDesks(3, .torture(), seed: 7) { torture in
            for (round, fault) in harmless.enumerated() {
                try await torture.round(fault, "round \(round)")
                guard torture.isFine else { return }
            }
        }
    }

    /// The remaining loss, counted apart: a client can only report it.
    @Test func `a response that is lost at a strict server ends the session, with the reason`() async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 11)
            for round in 1...21 {
                try await torture.lose(by: Torture.losses[round % 3], "round \(round)")
                guard torture.isFine else { return }
            }
            torture.report()
        }
    }

    /// On a kept connection, the second copy is where the response to the next request is expected.
    @Test func `a response that comes twice is taken once`() async throws {
        try await withDesk(.torture()) { fixture in
            let torture = try await Torture(fixture, seed: 5)
            for _ in 0..<3 {
                try torture.expire()
                fixture.provider.fault(.duplicatedResponse, at: .token)
                fixture.provider.fault(.duplicatedResponse, at: .userInfo)
                let claims = try await fixture.run("userinfo", "--json").result()
                #expect(claims["sub"]?.string == "248289761001" && claims["access_token"] == nil)
                #expect(torture.newRefreshes == 1)
                try torture.check()
            }
            #expect(fixture.provider.count(.userInfo) == 3)
        }
    }

    @Test func `a sign-out during a refresh is a sign-out`() async throws {
        try await withDesk(.torture()) { fixture in
            for _ in 0..<2 {
                let torture = try await Torture(fixture, seed: 3)
                try torture.expire()
                let hold = fixture.provider.hold(.token)
                let refreshing = try torture.token()
                try await hold.arrived()
                _ = try await fixture.run("logout", "--json", "--revoke-only").result()
                hold.release()
                try await refreshing.outcome().failure(1, "sign_in_required")
                #expect(fixture.stored.isEmpty)
                #expect(fixture.provider.livingTokens.isEmpty)
            }
        }
    }
}

/// Plays at several desks at once, with consecutive seeds: most of the time, a round waits.
private func withDesks(
    _ count: UInt64, _ configuration: LocalProvider.Configuration, seed: UInt64,
    _ play: @escaping @Sendable (Torture) async throws -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for offset in 0..<count {
            group.addTask {
                try await withDesk(configuration) { fixture in
                    try await play(Torture(fixture, seed: seed + offset))
                }
            }
        }
        try await group.waitForAll()
    }
}

extension UInt64 {
    /// The seed of a run: that of the environment, or another one each time.
    static var torture: UInt64 {
        ProcessInfo.processInfo.environment["APPAUTH_TORTURE_SEED"].flatMap(UInt64.init) ?? .random(in: 0...9999)
    }
}

extension LocalProvider.Configuration {
    static func torture(grace: Int = 0) -> Self {
        var configuration = demo
        configuration.refreshTokenGracePeriod = grace
        return configuration
    }
}
