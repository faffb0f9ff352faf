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

    /// Signs in. If the user must agree to the issuer first, asks on a terminal (RFC 9700 §4.4).
    ///
    /// - Parameters:
    ///   - configuration: What the sign-in requests.
    ///   - line: The command line of the sign-in.
    ///   - signIn: Signs in with the user's agreement.
    func asking(
        as configuration: ClientConfiguration, by line: SignInLine,
        _ signIn: (_ confirmed: SignInConfirmation?) async throws -> AuthState
    ) async throws -> AuthState {
        do { return try await signIn(nil) } catch var error as AuthError {
            guard let question = error.confirmation else { throw error }
            guard try await ask(question) else {
                let line = line.agreeing(
                    to: question.issuer.string, scope: configuration.scope, dpop: configuration.dpop != nil)
                error.message += ". To agree without a question, sign in with: \(line.shellLine)"
                throw error
            }
            return try await signIn(question)
        }
    }

    /// Asks whether to sign in at an issuer that a resource has named.
    private func ask(_ question: SignInConfirmation) async throws -> Bool {
        guard canAsk else { return false }
        say("\(question.summary.asSentence):")
        say("  resource: \(question.resource.shownHost)")
        say("  issuer: \(question.issuer.shownHost)")
        if let hosts = question.hostsElsewhere { say("  other servers: \(hosts)") }
        return try await ask(
            "If a page that opens is not the issuer's, the issuer gets access to what you have there. Sign in?")
    }
}
