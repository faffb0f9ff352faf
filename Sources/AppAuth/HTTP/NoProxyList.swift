/// The hosts of `NO_PROXY` as other programs understand them too. libcurl knows no `host:port`, `*.domain`, `*domain`, URL,
/// `<local>`, or semicolon between entries. Its ranges of addresses are left to it.
package struct NoProxyList: Sendable, Hashable {
    private struct Entry: Hashable {
        let domain: String
        let port: Int?
        /// Whether only hosts within the domain are meant.
        let isWithin: Bool
    }

    private let entries: [Entry]
    private let hasAll: Bool
    private let hasLocalNames: Bool

    package init(_ list: String) {
        let words = list.lowercased().split { ",;| \t".contains($0) }
        (hasAll, hasLocalNames) = (words.contains("*"), words.contains("<local>"))
        entries = words.compactMap { word in
            var word = word
            if let scheme = word.firstRange(of: "://") { word = word[scheme.upperBound...].prefix { $0 != "/" } }
            var port: Int?
            if let colon = word.lastIndex(of: ":"), let number = UInt16(word[word.index(after: colon)...]),
                !word[..<colon].contains(":") || word[..<colon].hasSuffix("]")
            {
                (word, port) = (word[..<colon], Int(number))
            }
            let hasWildcard = word.hasPrefix("*")
            let domain = word.drop { $0 == "*" }
            let name = domain.drop { $0 == "." }.filter { !"[]".contains($0) }
            return name.isEmpty ? nil : Entry(domain: name, port: port, isWithin: hasWildcard && domain.hasPrefix("."))
        }
    }

    /// Whether a server is reached without a proxy. An entry with a port applies only to that port, and one that does not
    /// begin with `*.` also to the domain itself.
    package func contains(_ target: HTTPTarget) -> Bool {
        let host = target.host.lowercased()
        if hasAll { return true }
        if hasLocalNames, !host.contains(where: { ".:".contains($0) }) { return true }
        return entries.contains { entry in
            (entry.port ?? target.port) == target.port
                && (host.hasSuffix("." + entry.domain)
                    || !entry.isWithin && host == entry.domain)
        }
    }
}
