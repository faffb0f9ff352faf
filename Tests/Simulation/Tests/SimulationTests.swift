import AppAuthProtocol
import Foundation
import Testing

@testable import SessionSimulation

/// The rules and the machine of a session, against everything that can happen in thousands of months.
///
/// `APPAUTH_SIMULATION_SEED` and `APPAUTH_SIMULATION_RUNS` select other runs. The seeds are consecutive.
struct SimulationTests {
    private static let episodes = 60

    /// Simulates a user. Every second one has the session in a database, which can lose the refresh lock.
    private static func run(seed: UInt64, _ client: Client, _ flaw: Flaw? = nil) -> (
        tally: InvariantChecker.Tally, months: Double, found: Finding?
    ) {
        // Both lanes have half of them.
        let losesLocks = flaw?.needsLostLocks ?? (seed % 4 < 2)
        return Finding.run(seed: seed, episodes: episodes, losesLocks: losesLocks, client, flaw)
    }

    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    /// Runs consecutive seeds, two at a time.
    private static func run(seeds: Range<Int>, _ client: Client) async -> (
        InvariantChecker.Tally, months: Double, Finding?
    ) {
        @Sendable func lane(_ number: Int) -> (InvariantChecker.Tally, Double, Finding?) {
            var (total, months) = (InvariantChecker.Tally(), 0.0)
            for seed in seeds where seed % 2 == number {
                let run = Self.run(seed: UInt64(seed), client)
                total += run.tally
                months += run.months
                if let found = run.found { return (total, months, found) }
            }
            return (total, months, nil)
        }
        async let even = onThreadOfItsOwn { lane(0) }
        let odd = await onThreadOfItsOwn { lane(1) }
        var sum = await even
        sum.0 += odd.0
        return (sum.0, sum.1 + odd.1, sum.2 ?? odd.2)
    }

    /// Runs `body` on a new thread, since other tests of this process need the threads of the pool.
    private static func onThreadOfItsOwn<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        await withCheckedContinuation { continuation in
            Thread {
                // Give other work priority.
                setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19)
                continuation.resume(returning: body())
            }.start()
        }
    }

    @Test func `no user is signed out by mistake in thousands of process-months`() async throws {
        let first = Self.number("APPAUTH_SIMULATION_SEED") ?? Int.random(in: 1...1_000_000_000)
        let seeds = first..<(first + (Self.number("APPAUTH_SIMULATION_RUNS") ?? 150))
        let (total, months, found) = await Self.run(seeds: seeds, try Simulation.client())
        if let found { Issue.record("\(found.report)") }
        print(
            """
            simulation: seeds \(seeds), \(Int(months)) process-months, \(total.calls) calls, \
            \(total.tokens) tokens handed out, \(total.requests) requests, \(total.refreshes) refreshes; \
            sessions ended by the provider’s side or the user: \(total.revoked), as announced: \(total.announced), by a foreign ID token: \
            \(total.foreign), lost unavoidably: \(total.unavoidable), by our mistake: \(found == nil ? 0 : 1); \
            stalls: \(total.stalls), sent after the loss of the lock: \(total.late), \
            tokens that their caller had refused: \(total.refusedAgain)
            """)
        #expect(found != nil || total.refreshes > seeds.count)
        #expect(found != nil || seeds.count < 50 || total.late > 0 && total.announced > 0 && total.warnings > 0)
        // A run has about sixteen process-months. Fewer than some dozens of runs may have less.
        #expect(found != nil || seeds.count < 50 || months > 10 * Double(seeds.count))
    }

    @Test func `where a used refresh token stays valid, or none is rotated, no fault loses a session`() async throws {
        let client = try Simulation.client()
        for (rotates, grace) in [(true, Int.max), (false, nil)] {
            let (total, violations) = await Self.onThreadOfItsOwn {
                var (total, violations) = (InvariantChecker.Tally(), [String]())
                for seed in UInt64(1)...10 {
                    var generator = ScheduleGenerator(seed: seed)
                    var setting = generator.setting
                    (setting.manner.rotates, setting.manner.grace) = (rotates, grace)
                    let simulation = Simulation(setting, client: client)
                    simulation.run(generator.schedule(episodes: Self.episodes))
                    total += simulation.checker.tally
                    if let violation = simulation.checker.violation { violations.append("\(seed): \(violation)") }
                }
                return (total, violations)
            }
            #expect(violations.isEmpty)
            #expect(total.unavoidable == 0)
            #expect(total.refreshes > 100 && total.revoked > 0)
        }
    }

    @Test func `a seed gives the same run each time`() throws {
        let client = try Simulation.client()
        let traces = (0..<2).map { _ in
            var generator = ScheduleGenerator(seed: 7)
            let simulation = Simulation(generator.setting, client: client, isTraced: true)
            simulation.run(generator.schedule(episodes: 20))
            return simulation.trace
        }
        #expect(traces[0] == traces[1] && traces[0].count > 100)
    }

    @Test(arguments: Flaw.allCases.filter { $0.breaks != nil })
    func `a driver that gets it wrong is found out, with a short trace`(flaw: Flaw) async throws {
        let client = try Simulation.client()
        // Not every user who is affected has a short story.
        let found = await Self.onThreadOfItsOwn { () -> Finding? in
            var first: Finding?
            for seed in UInt64(1)...200 {
                guard let found = Self.run(seed: seed, client, flaw).found else { continue }
                first = first ?? found
                if found.trace.count <= 40 { return found }
            }
            return first
        }
        let report = try #require(found, "\(flaw) was not found out")
        #expect(report.violation.invariant == flaw.breaks)
        #expect(report.trace.count <= 40, "\(report.report)")
        if Self.number("APPAUTH_SIMULATION_TRACES") != nil { print("\(flaw): \(report.report)") }
    }
}
