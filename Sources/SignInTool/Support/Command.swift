internal import ArgumentParser

/// One command.
protocol Command: ParsableCommand, Sendable {
    var common: CommonOptions { get }
    /// How long it may take unless `--timeout` says otherwise.
    var defaultTimeout: Duration { get }
    /// Whether it keeps to its limit by itself.
    var endsInTime: Bool { get }
    /// Does the work.
    ///
    /// - Returns: The exit status.
    func run(_ console: Console, limit: Duration) async throws -> Int32
}

extension Command {
    var defaultTimeout: Duration { .seconds(30) }
    var endsInTime: Bool { true }
}

/// A combination of arguments that makes no sense: exit status 2.
struct WrongUsage: Error {
    let message: String
    init(_ message: String) { self.message = message }
}
