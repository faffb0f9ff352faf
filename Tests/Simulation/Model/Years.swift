import AppAuthProtocol
import Foundation

/// A protection of sessions, which can be left out to measure its effect.
package enum Protection: String, CaseIterable, Sendable {
    case lock
    case rereading = "re-read"
    case persistence = "persist-before-publish"
    case room = "reserved-room"
    case reconciliation

    var flaw: Flaw {
        switch self {
        case .lock: .presentsWithoutLock
        case .rereading: .presentsFromMemory
        case .persistence: .storesLate
        case .room: .reservesNoRoom
        case .reconciliation: .believesRefusals
        }
    }
}

/// Users of an app over years: several processes on one machine, with sleep, restarts, crashes, lost responses, slow
/// keys, rotation with and without grace, full disks, wrong clocks and sign-outs.
package struct Years: Sendable {
    private let years: Double
    private let seed: UInt64
    private let missing: Protection?
    private let losesLocks: Bool
    /// The episodes of about a year.
    private static let episodes = 180

    /// - Parameter losesLocks: Whether the stores are databases, which can release a lock while its holder lives.
    package init(_ years: Double, seed: UInt64, without missing: Protection?, losesLocks: Bool = false) {
        (self.years, self.seed, self.missing, self.losesLocks) = (years, seed, missing, losesLocks)
    }

    /// Simulates users, several at a time, until they have used the app for this many years.
    package func run() async throws -> Report {
        let client = try Simulation.client()
        return await withTaskGroup(of: (seed: UInt64, tally: InvariantChecker.Tally, years: Double).self) { group in
            var report = Report()
            var next = seed
            func begin() {
                let seed = next
                next += 1
                group.addTask { self.run(seed, client) }
            }
            for _ in 0..<ProcessInfo.processInfo.activeProcessorCount { begin() }
            while let one = await group.next() {
                guard report.years < years else { continue }
                report.users += 1
                report.years += one.years
                report.tally += one.tally
                report.examples += one.tally.examples.prefix(3).map { "\(one.seed): \($0)" }
                begin()
            }
            return report
        }
    }

    /// How the first user comes to a broken rule; nil if none is broken.
    package func explanation() throws -> String? {
        try Finding.run(
            seed: seed, episodes: Self.episodes, losesLocks: losesLocks, Simulation.client(), missing?.flaw
        ).found?.report
    }

    private func run(_ seed: UInt64, _ client: Client) -> (
        seed: UInt64, tally: InvariantChecker.Tally, years: Double
    ) {
        var generator = ScheduleGenerator(seed: seed, losesLocks: losesLocks)
        let steps = generator.schedule(episodes: Self.episodes)
        let simulation = Simulation(generator.setting, client: client, flaw: missing?.flaw, isCounting: true)
        simulation.run(steps)
        return (seed, simulation.checker.tally, Double(simulation.world.now) / 1000 / 86_400 / 365)
    }

    /// The result of a simulation.
    package struct Report: Sendable {
        fileprivate(set) var users = 0
        fileprivate(set) var years = 0.0
        fileprivate var tally = InvariantChecker.Tally()
        /// Rules that were broken, with the number of the user.
        package fileprivate(set) var examples: [String] = []

        /// How often a rule was broken, for example because a session was lost that could have been kept.
        package var faults: Int { tally.violations.values.reduce(0, +) }

        private func count(_ invariant: Invariant) -> Int { tally.violations[invariant] ?? 0 }

        /// The rows of a table.
        package var rows: [(name: String, value: String)] {
            [
                ("years of use", "\(Int(years))"), ("users", "\(users)"), ("faults struck", "\(tally.faults)"),
                ("tokens handed out", "\(tally.tokens)"), ("refreshes", "\(tally.refreshes)"),
                ("signed out by the provider or the user", "\(tally.revoked)"),
                ("signed out by the provider as announced", "\(tally.announced)"),
                ("looks at which the user was told of that", "\(tally.warnings)"),
                ("looks at which the user should have been, or was told for nothing", "\(count(.noSurprise))"),
                ("signed out by an ID token of another user", "\(tally.foreign)"),
                ("signed out unavoidably", "\(tally.unavoidable)"),
                ("signed out avoidably", "\(count(.sessionKept))"),
                ("refresh tokens sent after their successor was stored", "\(count(.noReuse))"),
                ("records that could not be read", "\(count(.readable))"),
                (
                    "other rules broken",
                    "\(tally.violations.filter { ![.sessionKept, .noReuse, .readable, .noSurprise].contains($0.key) }.values.reduce(0, +))"
                ),
            ]
        }
    }
}

extension Simulation {
    static func client() throws -> Client {
        var client = Client(
            id: "app",
            provider: try ProviderMetadata(
                issuer: "https://op.example",
                endpoints: [
                    .token: "https://op.example/token", .keys: "https://op.example/keys",
                    .revocation: "https://op.example/revoke",
                ]))
        client.idTokenRules.signedResponseAlgorithm = "ES256"
        return client
    }
}
