internal import JOSE

/// The error members of an OAuth response (RFC 6749 §4.1.2.1, §5.2), cleaned and shortened for display.
public struct OAuthError: Sendable, Hashable, Codable {
    /// The error code, for example `invalid_grant`.
    public let error: String
    /// The server's explanation, meant for developers.
    public let errorDescription: String?
    /// The URI of a page about the error.
    public let errorURI: String?

    /// Creates an error from a server's texts. Each becomes one line of at most 64, 300 and 300 code points. An empty
    /// description or URI counts as absent.
    public init(error: String, errorDescription: String? = nil, errorURI: String? = nil) {
        self.error = error.onOneLine.shortened(to: 64)
        func line(_ text: String?) -> String? {
            text.flatMap { $0.isEmpty ? nil : $0.onOneLine.shortened(to: 300) }
        }
        (self.errorDescription, self.errorURI) = (line(errorDescription), line(errorURI))
    }

    /// Creates an error without the secrets of the request: some servers repeat the code or token that they reject.
    package init(error: String, errorDescription: String?, errorURI: String?, hiding secrets: [Secret]) {
        let redaction = Redaction(of: secrets)
        self.init(
            error: redaction.applied(to: error), errorDescription: errorDescription.map(redaction.applied),
            errorURI: errorURI.map(redaction.applied))
    }

    /// The code and the description in one line, for the user. The description is in quotes that it cannot end, so that
    /// it is not mistaken for a message of the app.
    public var summary: String {
        let code = error.wholeMatch(of: /[A-Za-z0-9_.:\/-]+/) == nil ? error.foundText : error
        return errorDescription.map { "\(code): \($0.foundSentence)" } ?? code
    }

    /// The message about `access_denied` for the user who decided. A description is often that of a policy: the provider
    /// may have decided, too (RFC 6749 §4.1.2.1).
    var denial: String {
        errorDescription.map { "you or the provider denied access: \($0.foundSentence)" }
            ?? "you have denied access"
    }
}

extension String {
    /// The text without control characters, line breaks, characters that reorder text, and those of which zsh makes quotes,
    /// for terminals and logs.
    package var onOneLine: String {
        // Nearly every text. Properties of Unicode take far longer, and a store prepares an error for each call.
        guard !utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return self }
        return String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: " "
                    case _ where scalar.isReservedByShell: " "
                    default: scalar
                    }
                }))
    }

    /// Returns the first code points. Counting characters would not limit the size: one can have a million marks.
    package func shortened(to count: Int) -> String { String(String.UnicodeScalarView(unicodeScalars.prefix(count))) }
}
