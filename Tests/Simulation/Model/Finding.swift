import AppAuthProtocol

/// A broken rule, and the shortest way to break it.
struct Finding: Sendable {
    let seed: UInt64
    let violation: Violation
    let trace: [String]

    /// Simulates one user until a rule is broken.
    ///
    /// - Returns: The result, the process-months that have passed, and the broken rule, if there is one.
    static func run(
        seed: UInt64, episodes: Int, losesLocks: Bool = false, _ client: Client, _ flaw: Flaw? = nil
    ) -> (tally: InvariantChecker.Tally, months: Double, found: Finding?) {
        var generator = ScheduleGenerator(seed: seed, losesLocks: losesLocks)
        let (steps, setting) = (generator.schedule(episodes: episodes), generator.setting)
        func simulate(_ steps: Schedule, _ watched: Invariant?, isTraced: Bool = false) -> Simulation {
            let simulation = Simulation(setting, client: client, flaw: flaw, watching: watched, isTraced: isTraced)
            simulation.run(steps)
            return simulation
        }
        let simulation = simulate(steps, flaw?.breaks)
        let months = Double(simulation.world.now) / 1000 / 86_400 / 30 * Double(setting.processes)
        guard let violation = simulation.checker.violation else { return (simulation.checker.tally, months, nil) }
        let shortest = Shrinking { simulate($0, violation.invariant).isOver }.shortest(of: steps)
        let again = simulate(shortest, violation.invariant, isTraced: true)
        let last = again.checker.violation ?? violation
        return (simulation.checker.tally, months, Finding(seed: seed, violation: last, trace: again.trace))
    }

    var report: String {
        """
        broken: \(violation.invariant.rawValue): \(violation.what); user \(seed), the shortest trace:
        \(trace.suffix(40).joined(separator: "\n"))
        """
    }
}
