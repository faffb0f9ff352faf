/// The error members of an OAuth response (RFC 6749 §4.1.2.1, §5.2), cleaned and cut for display.
public struct OAuthError: Sendable, Hashable, Codable {
    /// The error code, for example `invalid_grant`.
    public let error: String
    /// The server's explanation, meant for developers.
    public let errorDescription: String?
    /// A page about the error.
    public let errorURI: String?

    /// Takes over what a server said: one line each, at most 64, 300 and 300 code points.
    public init(error: String, errorDescription: String? = nil, errorURI: String? = nil) {
        self.error = error.onOneLine.shortened(to: 64)
        self.errorDescription = errorDescription?.onOneLine.shortened(to: 300)
        self.errorURI = errorURI?.onOneLine.shortened(to: 300)
    }

    /// Takes over what a server said, without the secrets of the request: some servers repeat the code or token that they
    /// refuse.
    package init(error: String, errorDescription: String?, errorURI: String?, hiding secrets: [Secret]) {
        let redaction = Redaction(of: secrets)
        self.init(
            error: redaction.applied(to: error), errorDescription: errorDescription.map(redaction.applied),
            errorURI: errorURI.map(redaction.applied))
    }

    /// Code and description in one line, for a person.
    public var summary: String { errorDescription.map { "\(error): \($0)" } ?? error }
}

extension String {
    /// The text without control characters, line breaks and characters that reorder text, for terminals and logs.
    package var onOneLine: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: " "
                    default: scalar
                    }
                }))
    }

    /// The first code points. Not characters: one of them can have a million marks.
    package func shortened(to count: Int) -> String { String(String.UnicodeScalarView(unicodeScalars.prefix(count))) }
}
