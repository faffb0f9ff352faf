internal import AppAuth

extension Console {
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
        var lines = [
            "\(question.summary.asSentence):", "  resource: \(question.resource.shownHost)",
            "  issuer: \(question.issuer.shownHost)",
        ]
        if let hosts = question.hostsElsewhere { lines.append("  other servers: \(hosts)") }
        return try await ask(
            "If a page that opens is not the issuer’s, the issuer gets access to what you have there. Sign in?",
            about: lines)
    }
}
