import ArgumentParser
import SessionSimulation

/// Simulates users over years, and prints the outcome of their sessions.
@main
struct Simulate: AsyncParsableCommand {
    @Argument(help: "How many years of use.")
    var years: Double

    @Option(help: "The first user; each has a number of its own.")
    var seed: UInt64 = 1

    @Option(
        help:
            "Leave out one protection, to see what it is worth: \(Protection.allCases.map(\.rawValue).joined(separator: ", "))."
    )
    var without: Protection?

    @Flag(help: "Keep the sessions in databases, which can lose the refresh lock.")
    var losesLocks = false

    @Flag(help: "Show in short how the first user comes to a broken rule.")
    var explain = false

    func run() async throws {
        let years = Years(years, seed: seed, without: without, losesLocks: losesLocks)
        if explain { return print(try years.explanation() ?? "No rule is broken.") }
        let report = try await years.run()
        for row in report.rows { print("| \(row.name) | \(row.value) |") }
        for example in report.examples.prefix(without == nil ? 20 : 0) { print("user \(example)") }
        if without == nil, report.faults > 0 { throw ExitCode(1) }
    }
}

extension Protection: ExpressibleByArgument {}
