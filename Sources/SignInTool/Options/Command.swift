internal import ArgumentParser

/// One command.
protocol Command: ParsableCommand, Sendable {
    /// Whether it prints one JSON object. Credential helpers print what their caller expects.
    var json: Bool { get }
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
    var json: Bool { false }
    var defaultTimeout: Duration { .seconds(30) }
    var endsInTime: Bool { true }
}
