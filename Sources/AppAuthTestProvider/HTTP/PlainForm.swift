/// The reason why an OAuth endpoint rejects the body of a request, for a developer.
struct FormProblem: Error { let reason: String }

extension Request {
    /// Returns the form in the body, parsed as strictly as OAuth endpoints do.
    func plainForm() throws(FormProblem) -> Parameters {
        guard isForm else {
            throw FormProblem(reason: "expected the Content-Type application/x-www-form-urlencoded")
        }
        guard let form else { throw FormProblem(reason: "expected a well-formed form in UTF-8") }
        // RFC 6749 §2.3.1: credentials MUST NOT be included in the request URI; nothing else has a meaning there.
        guard query.entries.isEmpty else { throw FormProblem(reason: "expected no parameters in the URI") }
        // RFC 6749 §3.2: parameters MUST NOT be included more than once.
        if let name = form.repeated {
            throw FormProblem(reason: "the parameter \(name.forDescription) is given twice")
        }
        return form
    }
}
