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
