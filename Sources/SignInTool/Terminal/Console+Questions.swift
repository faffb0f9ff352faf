internal import AppAuth
internal import Glibc
internal import TerminalShims

extension Console {
    /// Whether a user can answer questions: standard input is a terminal, and for this process.
    var canAsk: Bool { input.map { $0.isTerminal && $0.isOurs } ?? false }

    /// Whether a user can be asked for what the command line lacks. With `--json`, programs run the command, which then
    /// fails at once. So it does if the user would not see the questions.
    var canConverse: Bool { !json && canAsk && Self.isTerminal(.error) }

    /// Asks the user a question, below the lines that it is about. Everything but `y` and `yes` means no, and so does the lack
    /// of a terminal. What was typed or pasted before the question is no answer to it.
    ///
    /// Servers decide how long the lines are. If they do not fit on the terminal, the user is not asked: users agree only to
    /// what they have seen.
    func ask(_ question: String, about lines: [String]) async throws -> Bool {
        guard let input, canAsk else { return false }
        let question = "\(question) Type y and Enter to go on, or only Enter to stop."
        for line in lines { show(line) }
        let screen = terminal_size(Self.isTerminal(.error) ? STDERR_FILENO : STDIN_FILENO)
        guard (lines + [question]).fit(columns: Int(screen.columns), rows: Int(screen.rows)) else {
            show("That is more than your terminal shows at once, so you are not asked. Make it larger, and try again.")
            return false
        }
        guard input.discardTyped(), show(question) else { return false }
        for try await line in InputLines.stream(from: input, { _ in }) {
            return ["y", "yes"].contains(line.lowercased())
        }
        return false
    }

    /// Says something that belongs to a question. If standard error is no terminal, the terminal that gets the answer shows it
    /// too: nobody agrees to what they have not seen.
    ///
    /// - Returns: Whether the user can see it.
    @discardableResult
    func show(_ line: String) -> Bool {
        say(line)
        return Self.isTerminal(.error) || (input?.write(line.onOneLine + "\n") ?? false)
    }
}
