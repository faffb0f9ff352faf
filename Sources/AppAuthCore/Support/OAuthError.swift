/// The error members of an OAuth answer (RFC 6749 §4.1.2.1, §5.2), cleaned and cut for display.
public struct OAuthError: Sendable, Hashable, Codable {
    /// The error code, for example `invalid_grant`.
    public let error: String
    /// The server's explanation, meant for developers.
    public let errorDescription: String?
    /// A page about the error.
    public let errorURI: String?

    /// Takes over what a server said: one line each, at most 64, 300 and 300 characters.
    public init(error: String, errorDescription: String? = nil, errorURI: String? = nil) {
        self.error = String(error.onOneLine.prefix(64))
        self.errorDescription = errorDescription.map { String($0.onOneLine.prefix(300)) }
        self.errorURI = errorURI.map { String($0.onOneLine.prefix(300)) }
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
}
