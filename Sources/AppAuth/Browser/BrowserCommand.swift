/// A program that opens URLs, and its arguments.
struct BrowserCommand: Sendable, Hashable {
    private let words: [String]

    /// Splits an entry at its spaces.
    init(_ entry: String) { words = entry.split(separator: " ").map(String.init) }

    /// The name of the program, for messages.
    var name: String { words.first ?? "" }

    /// Program and arguments for a URL, which is one argument, or a part of one, whatever it holds.
    func arguments(for url: String) -> [String] {
        let filled = words.prefix(1) + words.dropFirst().map { $0.replacing("%s", with: url) }
        return words.dropFirst().contains { $0.contains("%s") } ? Array(filled) : filled + [url]
    }
}
