internal import HTTPTypes

/// Errors of servers that respond with a sentence instead of a code of RFC 6749 §5.2.
extension TransportResponse {
    /// The sentences of an error: `error` or `errors`, each a string or a list of strings.
    var errorSentences: [String] {
        let json = try? parsedBody
        return ["error", "errors"].flatMap { name in
            json?[name]?.strings ?? [json?[name]?.string].compactMap(\.self)
        }
    }

    /// Translates an error into the RFC's codes, with the sentence as its description. Other responses are returned
    /// unchanged.
    ///
    /// A 5xx or 429 becomes a temporary error regardless of its sentence: a server in trouble must not end a session.
    ///
    /// - Parameters:
    ///   - fallback: The sentence of an error response without one; nil leaves such a response unchanged.
    ///   - code: Returns the code and description for a sentence. `invalid_grant` ends a session, so it must be
    ///     returned only for a sentence that certainly means it.
    func translatingError(
        fallback: String? = nil, _ code: (String) -> (code: String, description: String)
    ) -> TransportResponse {
        let status = status.code
        guard (400..<600).contains(status), let sentence = errorSentences.first ?? fallback,
            !Self.codes.contains(sentence)
        else { return self }
        var (code, description) = code(sentence)
        if status >= 500 { code = "server_error" }
        if status == 429 { code = "temporarily_unavailable" }
        var response = self
        response.body = Array(
            JSON.object(["error": .string(code), "error_description": .string(description)]).serialized().utf8)
        return response
    }

    /// The codes of RFC 6749 §5.2. A server that sends one of them means it.
    private static let codes: Set<String> = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
    ]
}
