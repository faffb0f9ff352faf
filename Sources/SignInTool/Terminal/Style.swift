internal import AppAuth
internal import Glibc
internal import TerminalShims

/// How a terminal emphasizes a text (ECMA-48 §8.3.117).
enum Style: Int {
    case bold = 1
    case red = 31

    /// The signs of a spinner, each of them for a second.
    static let spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]
}

extension Console {
    /// Whether standard error is a terminal of which a line may change: another job of it is not in the foreground.
    static var hasStatusLine: Bool {
        guard isTerminal(.error), variable("TERM") != "dumb" else { return false }
        let foreground = tcgetpgrp(Stream.error.rawValue)
        return foreground < 0 || foreground == getpgrp()
    }

    /// Whether the command shows a status line. With `--json`, programs read standard error, which may be a terminal.
    var hasStatusLine: Bool { !json && Self.hasStatusLine }

    /// Returns a text for standard error with its style, but not with `--json`.
    func styled(_ text: String, _ style: Style) -> String { json ? text : Self.styled(text, style, on: .error) }

    /// Whether a terminal shows colours and characters beyond ASCII. A user without them may listen to a screen reader.
    static var isDecorated: Bool {
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(variable).first ?? ""
        return !isPlain(.error) && locale.lowercased().replacing("-", with: "").contains("utf8")
    }

    /// The number of cells in a line of a terminal; nil for a file or a pipe, or if it is unknown.
    static func width(of stream: Stream) -> Int? {
        guard isTerminal(stream) else { return nil }
        let columns = Int(terminal_size(stream.rawValue).columns)
        return columns > 0 ? columns : nil
    }

    private static func isPlain(_ stream: Stream) -> Bool {
        variable("NO_COLOR") != nil || variable("TERM") == "dumb" || !isTerminal(stream)
    }

    /// Returns the text with its style if the stream is a terminal and the user has not set `NO_COLOR`.
    static func styled(_ text: String, _ style: Style, on stream: Stream) -> String {
        isPlain(stream) ? text : "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }
}
