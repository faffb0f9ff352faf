import AppAuthCore
import Foundation
import LocalProvider
import Testing

/// Hundreds of rounds of real processes that share one session, at a provider that rotates refresh tokens and ends the
/// family of one that is used twice, while everything goes wrong that can.
///
/// `APPAUTH_TORTURE_SEED` repeats a run, `APPAUTH_TORTURE_ROUNDS` makes it longer.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct TortureTests {
    @Test func `fifty processes with an expired token get one new one, by one refresh`() async throws {
        try await withDesk(.torture()) { desk in
            let torture = try await Torture(desk, seed: 1)
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

    /// Without a grace period an answer that is lost is a session that is lost: nothing that a client can do changes that.
    /// So the rounds are played where the old token is good for a while, and no round may cost the session.
    @Test func `whatever happens to a process or a server, the session is there afterwards`() async throws {
        try await withDesk(.torture(grace: 3600)) { desk in
            let seed = ProcessInfo.processInfo.environment["APPAUTH_TORTURE_SEED"].flatMap(UInt64.init)
            let torture = try await Torture(desk, seed: seed ?? .random(in: 0...9999))
            let rounds = ProcessInfo.processInfo.environment["APPAUTH_TORTURE_ROUNDS"].flatMap(Int.init) ?? 200
            print("torture: \(rounds) rounds, APPAUTH_TORTURE_SEED=\(torture.seed)")
            for round in 1...rounds {
                let accident = torture.any(Accident.allCases)
                try torture.expire()
                try await torture.play(accident)
                // Somebody who comes afterwards finds everything in order.
                let token = try await torture.printed(try torture.token())
                #expect(desk.provider.isAlive(token), "round \(round): \(accident)")
                try torture.check("round \(round): \(accident), seed \(torture.seed)")
                guard torture.isFine else { return }
            }
            torture.report()
        }
    }

    /// The same without a grace period, and only with accidents after which the provider still honours the session.
    @Test func `what the server has not seen costs nothing, however strict it is`() async throws {
        try await withDesk(.torture()) { desk in
            let torture = try await Torture(desk, seed: 7)
            for round in 1...20 {
                let accident = torture.any([Accident.refused, .busy, .fullDisk, .clock, .herd])
                try torture.expire()
                try await torture.play(accident)
                let token = try await torture.printed(try torture.token())
                #expect(desk.provider.isAlive(token), "round \(round): \(accident)")
                try torture.check("round \(round): \(accident)")
                guard torture.isFine else { return }
            }
        }
    }

    @Test func `a sign-out during a refresh is a sign-out`() async throws {
        try await withDesk(.torture()) { desk in
            for _ in 0..<5 {
                let torture = try await Torture(desk, seed: 3)
                try torture.expire()
                let hold = desk.provider.hold(.token)
                let refreshing = try torture.token()
                try await hold.arrived()
                _ = try await desk.run("logout", "--json", "--revoke-only").result()
                hold.release()
                try await refreshing.outcome().failure(1, "sign_in_required")
                #expect(desk.stored.isEmpty)
                for token in torture.issued { #expect(!desk.provider.isAlive(token)) }
            }
        }
    }
}

extension LocalProvider.Configuration {
    fileprivate static func torture(grace: Int = 0) -> Self {
        var configuration = demo
        configuration.refreshTokenGracePeriod = grace
        return configuration
    }
}
