internal import FoundationEssentials

/// A redirect URI as a client registered it.
public enum RedirectURI: Sendable, Hashable, ExpressibleByStringLiteral {
    /// The same text, character by character (RFC 9700 §2.1). With a loopback IP literal, the port may differ
    /// (RFC 8252 §7.3).
    case exact(String)
    /// Any port and path on 127.0.0.1, [::1] or localhost, over http: for a demo client whose redirect URIs are not
    /// known.
    case anyLoopback

    /// Creates a redirect URI that is registered as this text.
    public init(stringLiteral value: String) { self = .exact(value) }

    package func matches(_ uri: String) -> Bool {
        // RFC 6749 §3.1.2: absolute, and without a fragment.
        guard let url = URLComponents(string: uri), url.scheme != nil, !uri.contains("#") else {
            return false
        }
        return switch self {
        case .exact(let registered):
            uri == registered || Self.withoutPort(uri).map { $0 == Self.withoutPort(registered) } == true
        case .anyLoopback: (Self.loopbackPrefixes + ["http://localhost"]).contains { Self.splits(uri, $0) != nil }
        }
    }

    private static let loopbackPrefixes = ["http://127.0.0.1", "http://[::1]"]

    /// Returns the URI without the port if the host is a loopback IP literal; otherwise nil.
    private static func withoutPort(_ uri: String) -> String? {
        loopbackPrefixes.lazy.compactMap { prefix in splits(uri, prefix).map { prefix + $0 } }.first
    }

    /// Returns the part after the host and a port; nil if the host name is longer than the prefix.
    private static func splits(_ uri: String, _ prefix: String) -> Substring? {
        guard uri.hasPrefix(prefix) else { return nil }
        var rest = uri.dropFirst(prefix.count)
        if rest.first == ":" {
            let port = rest.dropFirst().prefix { $0 != "/" && $0 != "?" }
            guard let number = UInt16(port), number > 0, port.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }) else {
                return nil
            }
            rest = rest.dropFirst(1 + port.count)
        }
        return rest.isEmpty || rest.first == "/" || rest.first == "?" ? rest : nil
    }
}

extension String {
    /// Returns the URI with parameters added to its query.
    func appending(_ parameters: [(name: String, value: String)]) -> String {
        guard !parameters.isEmpty else { return self }
        return self + (contains("?") ? "&" : "?") + FormCoding.encode(parameters)
    }
}
