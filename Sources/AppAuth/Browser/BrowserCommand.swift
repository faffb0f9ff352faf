internal import FoundationEssentials
internal import Glibc

/// A program that opens URLs, and its arguments.
package struct BrowserCommand: Sendable, Hashable {
    private let words: [String]
    /// Variables added to the environment of this process.
    let environment: [String: String]

    /// Creates a command from an entry that is split at spaces. Quotes group words, and so does the path of a program that
    /// exists.
    package init(_ entry: String, environment: [String: String] = [:]) {
        self.init(words: Self.words(in: entry), environment: environment)
    }

    private init(words: [String], environment: [String: String] = [:]) {
        (self.words, self.environment) = (words, environment)
    }

    /// The name of the program, for messages.
    package var name: String { words.first ?? "" }

    /// Returns the program and its arguments for a URL. The URL is always one argument or a part of one.
    func arguments(for url: String) -> [String] {
        if Self.powerShells.contains(name) { return words + [Self.powerShellScript(opening: url)] }
        let filled = words.prefix(1) + words.dropFirst().map { $0.replacing("%s", with: url) }
        return words.dropFirst().contains { $0.contains("%s") } ? Array(filled) : filled + [url]
    }
}

/// The words of `BROWSER`.
extension BrowserCommand {
    /// Splits a list of entries at the colons that are not between quotes.
    static func list(_ value: String) -> [BrowserCommand] {
        parts(of: value, at: ":", keepsQuotes: true).map { BrowserCommand($0) }.filter { !$0.name.isEmpty }
    }

    private static func words(in entry: String) -> [String] {
        let entry = entry.drop { $0 == " " }
        guard let path = programPath(in: entry) else { return parts(of: entry, at: " ", keepsQuotes: false) }
        return [path] + parts(of: entry.dropFirst(path.count), at: " ", keepsQuotes: false)
    }

    /// Returns the path at the begin of an entry that has spaces and is that of a program.
    private static func programPath(in entry: Substring) -> String? {
        guard entry.hasPrefix("/") else { return nil }
        let ends = entry.indices.filter { entry[$0] == " " } + [entry.endIndex]
        return ends.map { String(entry[..<$0]) }.first { path in
            var status = stat()
            return access(path, X_OK) == 0 && stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        }
    }

    /// Splits a text at a separator, except between quotes. A quote begins a word, or follows `=`; any other, as in `O'Neil`,
    /// is a part of the word.
    private static func parts(
        of text: some StringProtocol, at separator: Character, keepsQuotes: Bool
    ) -> [String] {
        var (parts, part, rest) = ([String](), "", Substring(text))
        while let first = rest.popFirst() {
            if first == separator {
                if !part.isEmpty { parts.append(part) }
                part = ""
            } else if first == "\"" || first == "'", part.last.map({ " =".contains($0) }) != false,
                let end = rest.firstIndex(of: first)
            {
                part += keepsQuotes ? String(first) + rest[...end] : String(rest[..<end])
                rest = rest[rest.index(after: end)...]
            } else {
                part.append(first)
            }
        }
        return part.isEmpty ? parts : parts + [part]
    }
}

/// Windows PowerShell, which WSL has in its `PATH` unless its configuration says otherwise.
extension BrowserCommand {
    private static let powerShells = [
        "powershell.exe", "/mnt/c/Windows/System32/WindowsPowerShell/v1.0/powershell.exe",
    ]
    static let powerShell = powerShells.map {
        BrowserCommand(words: [$0, "-NoLogo", "-NoProfile", "-NonInteractive", "-EncodedCommand"])
    }

    /// Base64 of UTF-16, which neither Windows nor PowerShell can take for something else than one script. The URL is
    /// percent-encoded and has no quote.
    private static func powerShellScript(opening url: String) -> String {
        Data(("Start-Process '" + url + "'").utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }).base64EncodedString()
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
