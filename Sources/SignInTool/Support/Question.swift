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

    /// Signs in, or registers a client for it. If the user must agree to the issuer first, asks on a terminal (RFC 9700
    /// §4.4).
    ///
    /// - Parameters:
    ///   - line: The command line of the sign-in.
    ///   - scope: The scopes of the sign-in, if the line does not name them; nil for the default ones.
    ///   - dpop: Whether the sign-in is with DPoP.
    ///   - work: What needs the user's agreement.
    func asking<Value>(
        by line: SignInLine, scope: [Scope]?, dpop: Bool,
        _ work: (_ confirmed: SignInConfirmation?) async throws -> Value
    ) async throws -> Value {
        do { return try await work(nil) } catch var error as AuthError {
            guard let question = error.confirmation else { throw error }
            guard try await ask(question) else {
                let line = line.agreeing(to: question.issuer.string, scope: scope, dpop: dpop)
                error.message += ". To agree without a question, sign in with: \(line.shellLine)"
                throw error
            }
            return try await work(question)
        }
    }

    /// Asks whether to sign in at an issuer that a resource has named.
    private func ask(_ question: SignInConfirmation) async throws -> Bool {
        guard canAsk else { return false }
        show("\(question.summary.asSentence):")
        show("  resource: \(question.resource.shownHost)")
        show("  issuer: \(question.issuer.shownHost)")
        if let hosts = question.hostsElsewhere { show("  other servers: \(hosts)") }
        return try await ask(
            "If a page that opens is not the issuer's, the issuer gets access to what you have there. Sign in?")
    }
}
