internal import HTTPTypes

/// One challenge of a `WWW-Authenticate` header field (RFC 9110 §11.6.1).
package struct Challenge: Sendable, Hashable {
    /// The scheme in lower case.
    package let scheme: String
    /// The parameters, with names in lower case.
    package let parameters: [String: String]

    /// Reads all challenges of a field. What cannot be read ends the list.
    package static func challenges(in field: String) -> [Challenge] {
        var reader = Reader(rest: Substring(field))
        var challenges: [Challenge] = []
        while let challenge = reader.challenge() { challenges.append(challenge) }
        return challenges
    }

    private struct Reader {
        var rest: Substring

        mutating func challenge() -> Challenge? {
            skip { $0 == " " || $0 == "\t" || $0 == "," }
            guard let scheme = token() else { return nil }
            skipToken68()
            var parameters: [String: String] = [:]
            while let (name, value) = parameter() { parameters[name] = value }
            return Challenge(scheme: scheme.lowercased(), parameters: parameters)
        }

        /// A parameter, or nil, with nothing taken, where the next challenge or the end comes.
        private mutating func parameter() -> (String, String)? {
            let start = rest
            skip { $0 == " " || $0 == "\t" || $0 == "," }
            guard let name = token() else { return restore(start) }
            skip { $0 == " " || $0 == "\t" }
            guard rest.first == "=" else { return restore(start) }
            rest.removeFirst()
            skip { $0 == " " || $0 == "\t" }
            guard let value = rest.first == "\"" ? quoted() : token() else { return restore(start) }
            return (name.lowercased(), value)
        }

        /// Some schemes have one value in base64 instead of parameters (RFC 9110 §11.2), which may end with `=`.
        private mutating func skipToken68() {
            let start = rest
            skip { $0 == " " || $0 == "\t" }
            let hasValue = token() != nil
            skip { $0 == "=" }
            skip { $0 == " " || $0 == "\t" }
            if !hasValue || !(rest.isEmpty || rest.first == ",") { rest = start }
        }

        private mutating func restore(_ start: Substring) -> (String, String)? {
            rest = start
            return nil
        }

        private mutating func token() -> String? {
            let text = rest.prefix { !" \t,=\"".contains($0) }
            rest = rest[text.endIndex...]
            return text.isEmpty ? nil : String(text)
        }

        private mutating func quoted() -> String? {
            var text = ""
            rest.removeFirst()
            while let character = rest.popFirst() {
                switch character {
                case "\"": return text
                case "\\": rest.popFirst().map { text.append($0) }
                default: text.append(character)
                }
            }
            return nil
        }

        private mutating func skip(_ isSkipped: (Character) -> Bool) { rest = rest.drop(while: isSkipped) }
    }
}

extension HTTPAnswer {
    /// Whether this is the answer of a resource that takes the token for dead (RFC 6750 §3.1, RFC 9449 §7.1).
    package var saysInvalidToken: Bool {
        response.status == .unauthorized
            && response.headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges).contains { challenge in
                ["bearer", "dpop"].contains(challenge.scheme) && challenge.parameters["error"] == "invalid_token"
            }
    }
}
