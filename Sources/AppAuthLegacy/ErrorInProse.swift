internal import HTTPTypes

/// The errors of servers that response with a sentence where RFC 6749 §5.2 wants a code.
extension TransportResponse {
    /// The sentences of an error: `error` or `errors`, each a text or a list of texts.
    var errorSentences: [String] {
        let json = try? JSON(parsing: body)
        return ["error", "errors"].flatMap { name in
            json?[name]?.strings ?? [json?[name]?.string].compactMap(\.self)
        }
    }

    /// The same error in the RFC's words, with the sentence as its description. Other answers stay as they are.
    ///
    /// A server in trouble has refused nothing, whatever it says: that must not end a session.
    ///
    /// - Parameter code: What a sentence means. `invalid_grant` ends a session; so nothing that is in doubt is one.
    func translatingError(_ code: (String) -> (code: String, description: String)) -> TransportResponse {
        let status = status.code
        guard (400..<600).contains(status), let sentence = errorSentences.first, !Self.codes.contains(sentence) else {
            return self
        }
        var (code, description) = code(sentence)
        if status >= 500 { code = "server_error" }
        if status == 429 { code = "temporarily_unavailable" }
        var response = self
        response.body = Array(
            JSON.object(["error": .string(code), "error_description": .string(description)]).serialized().utf8)
        return response
    }

    /// The codes of RFC 6749 §5.2: who says one of them means it.
    private static let codes: Set<String> = [
        "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type",
        "invalid_scope",
    ]
}
