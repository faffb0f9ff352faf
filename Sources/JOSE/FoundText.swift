extension StringProtocol {
    /// The text of another party, for a message: in quotes, and shortened to 200 code points.
    ///
    /// The text cannot end the quotes, neither for a reader nor for a shell. Otherwise a server could continue the message
    /// with a sentence of its own, for example with a command to paste.
    package var foundText: String { foundText(atMost: 200) }

    /// As `foundText`, with another limit, in code points.
    package func foundText(atMost count: Int) -> String { "'" + quotable(count) + "'" }

    /// As `foundText`, for sentences, which may be longer.
    package var foundSentence: String { foundText(atMost: 300) }

    private func quotable(_ length: Int) -> String {
        let instead: Unicode.Scalar = "’"
        var shown = String.UnicodeScalarView()
        for scalar in unicodeScalars.prefix(length) {
            let next: Unicode.Scalar =
                switch (scalar, scalar.properties.generalCategory) {
                case ("'", _), (_, .initialPunctuation), (_, .finalPunctuation): instead
                case ("\\", _): "/"
                case ("^", _): scalar
                // Accents and the like by themselves.
                case (_, .modifierSymbol) where scalar.value < 0x1F000, ("\u{2B0}"..."\u{2FF}", _): instead
                case _ where Self.quotes.contains(scalar): instead
                default: scalar
                }
            // Two of them look like a double quote.
            if next != instead || shown.last != instead { shown.append(next) }
        }
        return String(shown).withSingleBlanks
    }

    /// Characters that look like quotes, and are no punctuation that begins or ends something, and no accent by itself.
    private static var quotes: Set<Unicode.Scalar> {
        Set(
            ("„‚＂＇❛❜❝❞❟❠՚՝׳״ײߴᛌᑊ᳓′″‴⁗‵‶〃〝〞〟ﾞꞌꞋ🙶🙷🙸"
                + "\u{374}\u{7F5}\u{A717}\u{1425}\u{16F51}\u{16F52}\u{2037}\u{2E42}").unicodeScalars)
    }

    /// The text with a single space in place of each run of characters that are, or become, blank. In a terminal, a long
    /// run would end the line, so that what follows seems to be a line of the program.
    package var withSingleBlanks: String {
        var (shown, isBlank) = (String.UnicodeScalarView(), false)
        for scalar in unicodeScalars {
            let (properties, category) = (scalar.properties, scalar.properties.generalCategory)
            // A blank with a mark looks like a quote, and one with something invisible is a blank.
            let isOnBlank =
                isBlank
                && (properties.isDefaultIgnorableCodePoint || [.nonspacingMark, .enclosingMark].contains(category))
            let isNext =
                isOnBlank || properties.isWhitespace || scalar.isUnsafeOnTerminal
                || "\u{2800}\u{3164}\u{115F}\u{1160}\u{FFA0}\u{16FE4}\u{1D159}\u{13441}\u{13442}".unicodeScalars
                    .contains(scalar)
            if !isNext { shown.append(scalar) } else if !isBlank { shown.append(" ") }
            isBlank = isNext
        }
        return String(shown)
    }
}

extension Unicode.Scalar {
    /// Whether a shell takes the character for one of its own when a line is pasted: U+E027 is a quote for zsh, and fish
    /// drops those of the other ranges.
    package var isReservedByShell: Bool {
        [0xE000...0xE0FF, 0xF500...0xF6FF, 0xFDD0...0xFDEF].contains { $0.contains(value) }
    }

    /// Whether the character controls a terminal, breaks a line, reorders or hides text, or is reserved by a shell.
    package var isUnsafeOnTerminal: Bool {
        let categories: [Unicode.GeneralCategory] = [
            .control, .format, .surrogate, .lineSeparator, .paragraphSeparator,
        ]
        return categories.contains(properties.generalCategory) || isReservedByShell
    }
}

extension String {
    /// A name that another party has chosen, for a sentence: in quotes, unless it is one plain word. It cannot continue the
    /// sentence with one of its own. A shell runs a word at the begin of a pasted line, and fish one in parentheses, with
    /// quotes or without: no line begins with it, and no parentheses stand around it.
    package var shownName: String {
        let isPlain = unicodeScalars.allSatisfy { scalar in
            // Not marks, and not letters that look like punctuation.
            let isLetter =
                scalar.properties.isAlphabetic
                && ![.modifierLetter, .nonspacingMark, .spacingMark].contains(scalar.properties.generalCategory)
            return isLetter || scalar.properties.numericType != nil || "._@+-’".unicodeScalars.contains(scalar)
        }
        return isPlain ? self : foundText
    }
}

extension JSON? {
    /// The value as an error message may show it: a string as `foundText`, of any other value only its kind.
    package var foundText: String { if case .string(let text)? = self { text.foundText } else { foundKind } }

    /// As `foundText`, but shows a number itself.
    package var foundNumber: String {
        if case .number? = self { String(self?.serialized().prefix(40) ?? "") } else { foundText }
    }

    /// As `foundKind`, for a value that should be an array of strings.
    package var foundStrings: String { self?.array?.isEmpty == false ? "an array with other values" : foundKind }
}
