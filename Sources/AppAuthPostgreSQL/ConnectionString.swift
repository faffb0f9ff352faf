internal import AppAuthProtocol
internal import CShims
internal import JOSE

/// What libpq is to connect to. It may contain a password, so it is never part of a message.
struct ConnectionString: Sendable {
    let text: String

    /// The host and the database for messages, as far as the text names them: no user, no password. Nothing of a text in which
    /// a password may end elsewhere than it seems.
    var place: String {
        if let uri { return isClear(uri) && Self.areServers(uri.place) ? String(uri.place) : "" }
        // A password with quotes, escapes or spaces may contain words like these.
        let words = text.split(whereSeparator: \.isWhitespace).map { $0.split(separator: "=", maxSplits: 1) }
        guard !text.contains(where: { "'\\".contains($0) }), words.allSatisfy({ $0.count == 2 }) else { return "" }
        let parts = words.filter { ["host", "hostaddr", "port", "dbname", "service"].contains($0[0]) }.map { $0[1] }
        return parts.allSatisfy(Self.isName) ? parts.joined(separator: "/") : ""
    }

    /// Whether this is a list of hosts and ports, and a database, as in a URI. What else it is could be a password.
    private static func areServers(_ place: Substring) -> Bool {
        let parts = place.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return place.isEmpty
            || isName(parts.last ?? "")
                && (parts.first ?? "").split(separator: ",").allSatisfy { server in
                    let end = server.lastIndex(of: "]") ?? server.startIndex
                    let colon = server[end...].firstIndex(of: ":") ?? server.endIndex
                    return isName(server[..<colon]) && isPorts(server[colon...].dropFirst())
                }
    }

    /// Whether it has only characters of names, addresses and paths.
    private static func isName(_ text: Substring) -> Bool {
        !text.contains("://") && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || "._-%/:,[]".utf8.contains($0) }
    }

    private static func hasPassword(_ value: String) -> Bool {
        ["password=", "pwd="].contains(where: value.lowercased().contains)
    }

    private static func isPorts(_ text: Substring) -> Bool { text.allSatisfy { $0 == "," || ("0"..."9").contains($0) } }

    /// The parts of a URI, as libpq reads them: the user and the password end with the first `@` that has no `/` before it.
    private var uri: (hasUser: Bool, place: Substring, rest: Substring)? {
        guard let scheme = ["postgresql://", "postgres://"].first(where: text.hasPrefix) else { return nil }
        let rest = text.dropFirst(scheme.count)
        let user = rest.prefix { $0 != "@" && $0 != "/" }
        let hasUser = user.endIndex < rest.endIndex && rest[user.endIndex] == "@"
        let address = hasUser ? rest[rest.index(after: user.endIndex)...] : rest
        let place = address.prefix { $0 != "?" }
        return (hasUser, place, address[place.endIndex...])
    }

    /// Whether the user and the password end where a reader sees it: `/` and `@` in a password are encoded (RFC 3986 §3.2.1).
    private func isClear(_ uri: (hasUser: Bool, place: Substring, rest: Substring)) -> Bool {
        !uri.place.contains("@") && (uri.hasUser || !uri.rest.contains("@"))
    }

    /// Checks the text.
    ///
    /// - Returns: The passwords in it, which no message may contain.
    func secrets(_ library: ClientLibrary, _ location: String) throws -> [String] {
        guard text.contains("=") || text.contains("://") else { return [] }
        // To libpq, a part of the password would be a host or a port, and its messages would quote that.
        guard uri.map(isClear) ?? true else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a URI of PostgreSQL for \(location) whose user and password end with its only @, found another one: write "
                    + "%40 for @ elsewhere, and in a password %2F for /")
        }
        var problem: UnsafeMutablePointer<CChar>?
        let options = library.functions.PQconninfoParse(text, &problem)
        // The problem quotes parts of the text, so it is not shown.
        if let problem { library.functions.PQfreemem(problem) }
        guard let options else {
            throw AuthError(
                .invalidConfiguration, .configuration,
                "expected a connection string of PostgreSQL for \(location), a URI or pairs like host=/run/postgresql, "
                    + "found something that libpq cannot parse")
        }
        defer { library.functions.PQconninfoFree(options) }
        var secrets: [String] = []
        var option = options
        while let keyword = option.pointee.keyword {
            defer { option += 1 }
            guard let value = option.pointee.value.map({ String(cString: $0) }), !value.isEmpty else { continue }
            let name = String(cString: keyword)
            if name.contains("password") { secrets.append(value) }
            // In a text of another form, this has the password, and libpq's messages would quote it.
            let isOfAnotherForm =
                switch name {
                case "port": !Self.isPorts(value[...])
                case "host", "hostaddr", "dbname": value.contains("://") || value.contains { "=;&".contains($0) }
                default: !name.contains("password") && Self.hasPassword(value)
                }
            guard !isOfAnotherForm else {
                throw AuthError(
                    .invalidConfiguration, .configuration,
                    "expected a connection string of PostgreSQL for \(location), a URI or pairs like host=/run/postgresql, "
                        + "found something else as its \(name)")
            }
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
