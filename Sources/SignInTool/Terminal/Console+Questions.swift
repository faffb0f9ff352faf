internal import AppAuth

extension Console {
    /// Whether a user can answer questions: standard input is a terminal, and for this process.
    var canAsk: Bool { input.map { $0.isTerminal && $0.isOurs } ?? false }

    /// Whether a user can be asked for what the command line lacks. With `--json`, programs run the command, which then
    /// fails at once. So it does if the user would not see the questions.
    var canConverse: Bool { !json && canAsk && Self.isTerminal(.error) }

    /// Asks the user a question. Everything but `y` and `yes` means no, and so does the lack of a terminal. What was typed
    /// or pasted before the question is no answer to it.
    func ask(_ question: String) async throws -> Bool {
        guard let input, canAsk, input.discardTyped(),
            show("\(question) Type y and Enter to go on, or only Enter to stop.")
        else { return false }
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
