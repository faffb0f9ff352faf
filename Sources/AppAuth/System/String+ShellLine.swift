internal import AppAuthProtocol
internal import JOSE

extension String {
    /// The string as one word of a command line that sh, bash, zsh and fish read in the same way, also if a user pastes
    /// it. Nil if it has control characters, line breaks or characters that reorder text, or that a shell reserves, which a
    /// terminal or a shell can take for something else in spite of the quotes.
    package var quotedForShell: String? {
        guard onOneLine.utf8.elementsEqual(utf8) else { return nil }
        // zsh replaces `=ls` by a path, and old versions of fish `%self` by a number.
        let isEmptyOption = hasPrefix("--") && hasSuffix("=")
        let isPlain = utf8.dropLast(isEmptyOption ? 1 : 0).allSatisfy {
            $0.isASCIIAlphanumeric || "_@%+:,./-".utf8.contains($0)
        }
        guard !isPlain || isEmpty || hasPrefix("%") else { return self }
        guard !isEmpty else { return "''" }
        // Inside single quotes, fish reads `\'` and `\\` as escapes, and the other shells read a backslash as itself.
        // Inside double quotes, all of them read `\\` as a backslash. There, no `!` is allowed: it is a reference to an
        // earlier command.
        var (quoted, rest) = ("", unicodeScalars[...])
        while let first = rest.first {
            let run = rest.prefix { $0.needsDoubleQuotes == first.needsDoubleQuotes }
            rest = rest[run.endIndex...]
            let text = String(run)
            quoted +=
                first.needsDoubleQuotes ? "\"\(text.replacing("\\", with: "\\\\"))\"" : "'" + text.withBlanksApart + "'"
        }
        return quoted
    }
}

extension String {
    /// A text in single quotes whose blanks have quotes between them. A long run of blanks would end the line of a terminal, so
    /// that what follows seems to be a line of its own.
    fileprivate var withBlanksApart: String {
        var (text, wasBlank) = ("", false)
        for scalar in unicodeScalars {
            let isBlank = String(scalar).withSingleBlanks == " "
            if isBlank, wasBlank { text += "'\"\"'" }
            text.unicodeScalars.append(scalar)
            wasBlank = isBlank
        }
        return text
    }
}

extension Unicode.Scalar {
    fileprivate var needsDoubleQuotes: Bool { self == "'" || self == "\\" }
}

extension [String] {
    /// The words as a command line to paste into sh, bash, zsh or fish. If a word cannot be in such a line, or the line is
    /// longer than a message or a terminal takes, a remark that says so takes the place of the line.
    ///
    /// The value of an option that is empty, or `--`, which would end the options, is no word of its own: `--scope=`.
    package var shellLine: String {
        let words = reduce(into: [String]()) { words, word in
            let isValue = ["", "--"].contains(word) && words.last?.hasPrefix("--") == true
            if isValue { words[words.count - 1] += "=\(word)" } else { words.append(word) }
        }
        return words.joinedForShell
    }

    private var joinedForShell: String {
        var line: [String] = []
        for (index, word) in enumerated() {
            guard let quoted = word.quotedForShell else {
                let option = index > 0 && self[index - 1].hasPrefix("--") ? self[index - 1] : ""
                let what = option.isEmpty ? "a word" : "the value of \(option)"
                let isControl = word.unicodeScalars.contains { $0.properties.generalCategory == .control }
                let isMisread = word.unicodeScalars.contains(where: \.isReservedByShell)
                let other = isMisread ? "characters that a shell can misread" : "invisible characters"
                let kind = isControl ? "control characters" : other
                return "(a line that is not shown, because \(what) has \(kind))"
            }
            line.append(quoted)
        }
        let whole = line.joined(separator: " ")
        return whole.utf8.count > 3000 ? "(a line that is not shown, because it is too long)" : whole
    }
}
