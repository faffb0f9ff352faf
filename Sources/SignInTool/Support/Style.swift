internal import AppAuth
internal import Glibc

/// How a terminal emphasizes a text (ECMA-48 §8.3.117).
enum Style: Int {
    case bold = 1
    case red = 31
}

extension Console {
    /// Whether standard error is a terminal in which this process is in the foreground, so that a line of it may change.
    static var hasStatusLine: Bool { isTerminal(.error) && tcgetpgrp(Stream.error.rawValue) == getpgrp() }

    /// Returns the text with its style if the stream is a terminal and the user has not set `NO_COLOR`.
    static func styled(_ text: String, _ style: Style, on stream: Stream) -> String {
        let isPlain = variable("NO_COLOR") != nil || variable("TERM") == "dumb" || !isTerminal(stream)
        return isPlain ? text : "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }
}
