internal import HTTPTypes
internal import JOSE

/// A challenge of a `WWW-Authenticate` header field (RFC 9110 §11.6.1).
package struct Challenge: Sendable, Hashable {
    /// The scheme in lower case; empty if the field begins with a parameter, as that of django-oidc-provider does.
    package let scheme: String
    /// The parameters, with names in lower case.
    package let parameters: [String: String]
    /// The names that occur more than once, which RFC 9110 §11.2 forbids: only the last value is known.
    package let repeated: Set<String>

    /// Parses all challenges of a field. The list ends at the first one that is malformed.
    package static func challenges(in field: String) -> [Challenge] {
        var reader = Reader(rest: Substring(field).utf8)
        var challenges: [Challenge] = []
        while let challenge = reader.challenge() { challenges.append(challenge) }
        return challenges
    }

    /// Reads bytes: as a `Character`, a quote followed by a combining mark would not be a quote.
    private struct Reader {
        var rest: Substring.UTF8View

        private static let (space, tab, comma) = (UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: ","))
        private static let (equals, quote) = (UInt8(ascii: "="), UInt8(ascii: "\""))
        private static let backslash = UInt8(ascii: "\\")

        mutating func challenge() -> Challenge? {
            skip(Self.space, Self.tab, Self.comma)
            let start = rest
            guard var scheme = token() else { return nil }
            if rest.first == Self.equals { (scheme, rest) = ("", start) } else { skipToken68() }
            var parameters: [String: String] = [:]
            var repeated: Set<String> = []
            while let (name, value) = parameter() {
                if parameters.updateValue(value, forKey: name) != nil { repeated.insert(name) }
            }
            guard !scheme.isEmpty || !parameters.isEmpty else { return nil }
            return Challenge(scheme: scheme.lowercasedASCII, parameters: parameters, repeated: repeated)
        }

        /// Returns the next parameter. At the next challenge or the end, returns nil and consumes nothing.
        private mutating func parameter() -> (String, String)? {
            let start = rest
            skip(Self.space, Self.tab, Self.comma)
            guard let name = token() else { return restore(start) }
            skip(Self.space, Self.tab)
            guard rest.first == Self.equals else { return restore(start) }
            rest.removeFirst()
            skip(Self.space, Self.tab)
            guard let value = rest.first == Self.quote ? quoted() : token() else { return restore(start) }
            return (name.lowercasedASCII, value)
        }

        /// Some schemes have one base64 value instead of parameters (RFC 9110 §11.2), which may end with `=`.
        private mutating func skipToken68() {
            let start = rest
            skip(Self.space, Self.tab)
            let hasValue = token() != nil
            skip(Self.equals)
            skip(Self.space, Self.tab)
            if !hasValue || !(rest.isEmpty || rest.first == Self.comma) { rest = start }
        }

        private mutating func restore(_ start: Substring.UTF8View) -> (String, String)? {
            rest = start
            return nil
        }

        private mutating func token() -> String? {
            let text = rest.prefix { ![Self.space, Self.tab, Self.comma, Self.equals, Self.quote].contains($0) }
            rest = rest[text.endIndex...]
            return text.isEmpty ? nil : String(Substring(text))
        }

        private mutating func quoted() -> String? {
            var text: [UInt8] = []
            rest.removeFirst()
            while let byte = rest.popFirst() {
                switch byte {
                case Self.quote: return String(decoding: text, as: UTF8.self)
                case Self.backslash: rest.popFirst().map { text.append($0) }
                default: text.append(byte)
                }
            }
            return nil
        }

        private mutating func skip(_ bytes: UInt8...) { rest = rest.drop { bytes.contains($0) } }
    }
}

extension TransportResponse {
    /// Whether a resource reports the token as invalid in this response (RFC 6750 §3.1, RFC 9449 §7.1).
    package var saysInvalidToken: Bool { status == .unauthorized && tokenErrors.contains("invalid_token") }

    /// Whether a resource may report the token as invalid: it gives no other reason for its 401.
    package var mayRefuseToken: Bool { status == .unauthorized && tokenErrors.allSatisfy { $0 == "invalid_token" } }

    /// Whether the userinfo endpoint may mean that this token is invalid. The endpoint is the issuer's own, so a 401
    /// without a reason is about the token, and several providers have the reason only in the body, or with status 400.
    /// Salesforce responds with 403, and does not tell how long its tokens live.
    package func mayMean(invalid token: AccessToken) -> Bool {
        let reason = tokenErrors.first ?? (try? parsedBody)?["error"]?.string
        return switch status {
        case .unauthorized: reason == nil || reason == "invalid_token"
        case .badRequest: reason == "invalid_token"
        case .forbidden: reason == nil && token.expiresAt == nil
        default: false
        }
    }

    /// The errors in the challenges for a token.
    private var tokenErrors: [String] {
        headerFields[values: .wwwAuthenticate].flatMap(Challenge.challenges)
            .filter { ["bearer", "dpop", ""].contains($0.scheme) }.compactMap { $0.parameters["error"] }
    }
}
