internal import AppAuth

extension Console {
    /// Whether a user can answer questions: standard input is a terminal, and for this process.
    var canAsk: Bool { input.map { $0.isTerminal && $0.isOurs } ?? false }

    /// Asks the user a question. Everything but `y` and `yes` means no, and so does the lack of a terminal.
    func ask(_ question: String) async throws -> Bool {
        guard let input, canAsk else { return false }
        say("\(question) Type y and Enter to go on, or only Enter to stop.")
        for try await line in InputLines.stream(from: input, { _ in }) {
            return ["y", "yes"].contains(line.lowercased())
        }
        return false
    }

    /// Asks whether to sign in at a page that a resource has led to.
    func ask(_ question: SignInConfirmation) async throws -> Bool {
        guard canAsk else { return false }
        say("The resource names the server for this sign-in. Nothing will show that the page is that server's own:")
        say("  resource: \(question.resource.shownHost)")
        say("  issuer: \(question.issuer.shownHost)")
        say("  page: \(question.page.shownHost)")
        return try await ask(
            "If the page is not the issuer's, the issuer gets access to what you have there. Sign in?")
    }
}
