/// Texts that fit a terminal, whose characters take one or two cells each.
extension String {
    /// The width of a usual terminal, or that of a narrower one at standard output.
    static var terminalCells: Int { Swift.min(80, Console.width(of: .output) ?? 80) }

    fileprivate var cells: Int { reduce(0) { $0 + $1.cells } }

    /// The lines of a value with its name. A value that is no sentence and does not fit has a line of its own, to be copied.
    func detail(_ name: String, isSentence: Bool) -> String {
        let prefix = "    \(name):".padded(toCells: 13)
        if isSentence {
            let longest = split(separator: " ").map { String($0).cells }.max() ?? 0
            let fits = prefix.cells + longest <= Self.terminalCells
            // It may have a server's words, which must not look like lines of their own.
            let mark = fits ? String(repeating: " ", count: prefix.cells - 2) + "| " : "    | "
            let lines = fits ? wrapped(after: prefix, then: mark) : ["    \(name):"] + wrapped(after: mark, then: mark)
            return lines.joined(separator: "\n")
        }
        return prefix.cells + cells <= Self.terminalCells ? prefix + self : "    \(name):\n      \(self)"
    }

    func padded(toCells count: Int) -> String { self + String(repeating: " ", count: max(0, count - cells)) }

    func shortened(toCells count: Int) -> String { cells > count ? cut(toCells: count - 1) + "…" : self }

    /// The begin of the string that fits so many cells.
    func cut(toCells count: Int) -> String {
        var rest = count
        return String(
            prefix { character in
                rest -= character.cells
                return rest >= 0
            })
    }

    /// Returns lines that fit a terminal. The first begins with a prefix. The others begin with another one, or below the
    /// end of the first. A word is never split, so that it can be copied.
    func wrapped(after prefix: String, then next: String? = nil) -> [String] {
        let indentation = next ?? String(repeating: " ", count: prefix.cells)
        var lines: [String] = []
        for word in split(separator: " ").map(String.init) {
            if let line = lines.last, line.cells + 1 + word.cells <= Self.terminalCells {
                lines[lines.endIndex - 1] = "\(line) \(word)"
            } else {
                lines.append((lines.isEmpty ? prefix : indentation) + word)
            }
        }
        return lines
    }
}

extension [String] {
    /// Whether these lines are on a screen at the same time, with the line of the answer. A terminal that does not know its size
    /// has that of the usual one.
    func fit(columns: Int, rows: Int) -> Bool {
        self.rows(columns: columns) < (rows > 0 ? rows : 24)
    }

    /// How many rows of a screen they take, at most. Some terminals show each part of an emoji by itself, and a wide character
    /// leaves the last cell of a row empty.
    func rows(columns: Int) -> Int {
        let cells = Swift.max(2, columns > 0 ? columns : 80) - 1
        return reduce(0) { $0 + Swift.max(1, ($1.unicodeScalars.reduce(0) { $0 + $1.cells } + cells - 1) / cells) }
    }
}

extension Character {
    /// How many cells of a terminal it takes, at most: two for emoji, and for East Asian characters that are wide (UAX #11). A
    /// letter may have any number of marks that take a cell each.
    fileprivate var cells: Int {
        let isEmoji = unicodeScalars.allSatisfy {
            $0.properties.isEmojiPresentation || $0.properties.isEmojiModifier || ["\u{200D}", "\u{FE0F}"].contains($0)
        }
        return isEmoji ? 2 : unicodeScalars.reduce(0) { $0 + $1.cells }
    }
}

extension Unicode.Scalar {
    fileprivate var cells: Int {
        // It makes an emoji of the character before it, for some terminals.
        if value == 0xFE0F { return 1 }
        if [.nonspacingMark, .enclosingMark, .format].contains(properties.generalCategory) { return 0 }
        let wide: [ClosedRange<UInt32>] = [
            0x1100...0x115F, 0x2329...0x232A, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0xA960...0xA97F, 0x16FE0...0x1B2FF, 0x1D300...0x1D37F, 0x1F200...0x1F2FF,
            0x20000...0x3FFFD,
        ]
        return properties.isEmojiPresentation || wide.contains { $0.contains(value) } ? 2 : 1
    }
}
