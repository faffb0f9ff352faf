/// The entries of `NO_PROXY` that libcurl does not understand, but other programs do: `host:port` and `*.domain`.
package struct NoProxyList: Sendable, Hashable {
    private struct Entry: Hashable {
        let domain: String
        let port: Int?
        let hasWildcard: Bool
    }

    private let entries: [Entry]

    package init(_ list: String) {
        entries = list.lowercased().split { $0 == "," || $0 == " " }.compactMap { word in
            var (domain, port) = (word[...], Int?.none)
            if let colon = word.lastIndex(of: ":"), let number = UInt16(word[word.index(after: colon)...]),
                !word[..<colon].contains(":") || word[..<colon].hasSuffix("]")
            {
                (domain, port) = (word[..<colon], Int(number))
            }
            let hasWildcard = domain.hasPrefix("*.")
            guard port != nil || hasWildcard else { return nil }
            let name = hasWildcard ? domain.dropFirst(2) : domain.hasPrefix(".") ? domain.dropFirst() : domain
            return Entry(domain: name.filter { !"[]".contains($0) }, port: port, hasWildcard: hasWildcard)
        }
    }

    /// Whether a server is reached without a proxy. An entry with a port applies only to that port, and one without a
    /// wildcard also to the domain itself.
    package func contains(_ target: HTTPTarget) -> Bool {
        let host = target.host.lowercased()
        return entries.contains { entry in
            (entry.port ?? target.port) == target.port
                && (host.hasSuffix("." + entry.domain) || !entry.hasWildcard && host == entry.domain)
        }
    }
}
