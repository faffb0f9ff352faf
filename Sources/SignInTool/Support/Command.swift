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

/// A combination of arguments that makes no sense: exit status 2.
struct WrongUsage: Error {
    /// What the user can choose: words for a command line, and perhaps what they mean.
    struct Choice: Hashable {
        var meaning: String?
        let words: String
    }

    let summary: String
    private(set) var choices: [Choice] = []

    init(_ message: String) { summary = message }

    init(_ summary: String, choosing choices: [Choice]) {
        self.init(summary)
        for choice in choices where !self.choices.contains(choice) { self.choices.append(choice) }
    }

    /// The message in one line, for programs.
    var message: String {
        guard !choices.isEmpty else { return summary }
        let texts = choices.map { ($0.meaning.map { "\($0): " } ?? "") + $0.words }
        return "\(summary): \(texts.joined(separator: ", or "))"
    }
}
