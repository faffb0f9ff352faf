internal import AppAuthProtocol
internal import CShims

/// What libpq is to connect to. It may contain a password, so it is never part of a message.
struct ConnectionString: Sendable {
    let text: String

    /// The host and the database for messages, as far as the text names them: no user, no password.
    var place: String {
        for scheme in ["postgresql://", "postgres://"] where text.hasPrefix(scheme) {
            let rest = text.dropFirst(scheme.count).prefix { $0 != "?" && $0 != "#" }
            // libpq accepts these two in a password, which would end before its "@".
            guard !text.dropFirst(scheme.count + rest.count).contains("@") else { return "" }
            // A password may contain "/" or "@" only if it is encoded, but libpq accepts a raw "@" too.
            let place = rest.lastIndex(of: "@").map { rest[rest.index(after: $0)...] } ?? rest
            return String(place.prefix { $0 != " " })
        }
        // A quoted password may contain words like these.
        guard !text.contains("'") else { return "" }
        let shown = ["host", "hostaddr", "port", "dbname", "service"]
        let values = text.split(separator: " ").compactMap { word -> Substring? in
            let parts = word.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, shown.contains(String(parts[0])) else { return nil }
            return parts[1]
        }
        return values.joined(separator: "/")
    }

    /// Checks the text.
    ///
    /// - Returns: The passwords in it, which no message may contain.
    func secrets(_ library: ClientLibrary, _ location: String) throws -> [String] {
        guard text.contains("=") || text.contains("://") else { return [] }
        var problem: UnsafeMutablePointer<CChar>?
        let options = library.functions.PQconninfoParse(text, &problem)
        // The problem quotes parts of the text, so it is not shown.
        if let problem { library.functions.PQfreemem(problem) }
        guard let options else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a connection string of PostgreSQL for \(location), a URI or pairs like host=/run/postgresql, "
                    + "found something that libpq cannot parse", outcome: .notSent)
        }
        defer { library.functions.PQconninfoFree(options) }
        var secrets: [String] = []
        var option = options
        while let keyword = option.pointee.keyword {
            let isSecret = String(cString: keyword).contains("password") && String(cString: keyword) != "passfile"
            if isSecret, let value = option.pointee.value, value[0] != 0 { secrets.append(String(cString: value)) }
            option += 1
        }
        return secrets
    }
}

extension String {
    /// The text in one line, without any of these secrets.
    func redacted(_ secrets: [String]) -> String {
        var words = split { $0.isWhitespace || $0.isNewline }.joined(separator: " ")
        for secret in secrets {
            var result = ""
            var rest = words[...]
            while let range = rest.firstRange(of: secret) {
                result += rest[..<range.lowerBound] + "***"
                rest = rest[range.upperBound...]
            }
            words = result + rest
        }
        return words
    }
}
