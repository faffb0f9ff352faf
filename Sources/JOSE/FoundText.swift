extension StringProtocol {
    /// The text of another party, for a message: in quotes, and shortened to 200 code points.
    ///
    /// The text cannot end the quotes, neither for a reader nor for a shell. Otherwise a server could continue the message
    /// with a sentence of its own, for example with a command to paste.
    package var foundText: String { foundText(atMost: 200) }

    package func foundText(atMost count: Int) -> String { "'\(within(quote: "'", instead: "’", length: count))'" }

    /// As `foundText`, for sentences: in double quotes, in which shells expand variables and commands too.
    package var foundSentence: String { "\"\(within(quote: "\"", instead: "'", length: 300))\"" }

    private func within(quote: Unicode.Scalar, instead: Unicode.Scalar, length: Int) -> String {
        let shown = unicodeScalars.prefix(length).map { scalar in
            switch (scalar, scalar.properties.generalCategory) {
            case (quote, _), (_, .initialPunctuation), (_, .finalPunctuation), ("＂", _), ("＇", _), ("❛"..."❞", _):
                instead
            case ("\\", _): "/" as Unicode.Scalar
            case ("$", _), ("`", _), ("!", _): quote == "\"" ? " " : scalar
            default: scalar
            }
        }
        return String(String.UnicodeScalarView(shown))
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
