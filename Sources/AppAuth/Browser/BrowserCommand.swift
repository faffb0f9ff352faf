/// A program that opens URLs, and its arguments.
package struct BrowserCommand: Sendable, Hashable {
    private let words: [String]
    /// Variables added to the environment of this process.
    let environment: [String: String]

    /// Creates a command from an entry that is split at spaces.
    package init(_ entry: String, environment: [String: String] = [:]) {
        (words, self.environment) = (entry.split(separator: " ").map(String.init), environment)
    }

    /// The name of the program, for messages.
    package var name: String { words.first ?? "" }

    /// Returns the program and its arguments for a URL. The URL is always one argument or a part of one.
    func arguments(for url: String) -> [String] {
        let filled = words.prefix(1) + words.dropFirst().map { $0.replacing("%s", with: url) }
        return words.dropFirst().contains { $0.contains("%s") } ? Array(filled) : filled + [url]
    }
}

extension BrowserCommand {
    private static let terminalBrowsers: Set<String> = [
        "w3m", "lynx", "links", "links2", "elinks", "felinks", "www-browser", "edbrowse", "browsh", "netrik", "retawq",
        "chawan", "cha", "carbonyl",
    ]

    /// Whether the program shows pages in a terminal. The two Links do so only without `-g`.
    var isForTerminal: Bool {
        let program = String(name.split(separator: "/").last ?? "")
        let isGraphical = ["links", "links2"].contains(program) && words.contains("-g")
        return Self.terminalBrowsers.contains(program) && !isGraphical
    }

    /// Returns whether a desktop entry with this name shows pages in a terminal. The entry of links2 uses `-g`.
    static func isForTerminal(entry: String) -> Bool {
        let name = entry.hasSuffix(".desktop") ? String(entry.dropLast(".desktop".count)) : entry
        return terminalBrowsers.contains(name) && name != "links2"
    }
}
