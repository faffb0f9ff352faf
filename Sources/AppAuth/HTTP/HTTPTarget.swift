package import AppAuthProtocol
package import HTTPTypes
internal import JOSE

/// The target of a request: its URL, and its host for messages that must not contain path and query.
package struct HTTPTarget: Sendable, Hashable {
    package let url: String
    /// The host without the brackets of an IPv6 address.
    package let host: String
    package let port: Int

    /// - Throws: ``AuthError`` with the code `invalid_configuration`.
    package init(_ request: HTTPRequest) throws(AuthError) {
        guard let scheme = request.scheme?.lowercased(), scheme == "http" || scheme == "https" else {
            throw HTTPTarget.refused(
                "expected an http or https URL, found the scheme \((request.scheme ?? "").foundText)")
        }
        guard let authority = request.authority, let (host, port) = HTTPTarget.split(authority) else {
            // The authority is not in the message, since it may contain a password.
            throw HTTPTarget.refused("expected a URL with only host[:port] before its path, found another")
        }
        let path = request.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        // libcurl would drop a fragment silently.
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "#") }) else {
            throw HTTPTarget.refused("the URL for \(host) has an invalid path")
        }
        (self.host, self.port) = (host, port ?? (scheme == "https" ? 443 : 80))
        url = "\(scheme)://\(authority)\(path)"
    }

    /// The host and port as in a URL, for messages.
    package var hostAndPort: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    var isSecure: Bool { url.hasPrefix("https:") }

    /// Whether the host is this machine: `127.0.0.0/8`, `::1` or `localhost`.
    package var isLoopback: Bool { host.isLoopbackHost }

    /// Splits an authority of RFC 3986 §3.2. User information is rejected, since libcurl would send it as credentials.
    private static func split(_ authority: String) -> (host: String, port: Int?)? {
        guard authority.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && !"@/\\?#".utf8.contains($0) }) else { return nil }
        var host = authority[...]
        var port: Int?
        if let colon = authority.lastIndex(of: ":"), authority[colon...].allSatisfy({ $0 != "]" }) {
            guard let number = UInt16(authority[authority.index(after: colon)...]) else { return nil }
            (host, port) = (authority[..<colon], Int(number))
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }

    private static func refused(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .configuration, message)
    }
}
