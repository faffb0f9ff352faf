internal import AppAuth

/// The base URL of an API. Only URLs below it may receive a token.
struct APIBase: Sendable {
    /// The base URL, with a slash at its end.
    private let string: String
    private let url: SecureURL

    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the base is not an https URL (or http on
    ///   loopback), or has a query.
    init(_ base: String) throws {
        let url = try SecureURL(base)
        guard url.query == nil else { throw Self.refusal("a base without a query") }
        self.url = url
        string = base.hasSuffix("/") ? base : base + "/"
    }

    /// Returns the URL of a path below the base.
    ///
    /// - Parameter path: A path with or without a leading slash, and with or without a query; or an absolute URL below
    ///   the base.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for anything else, in particular for
    ///   another origin, and for `..` in any spelling.
    func url(of path: String) throws -> SecureURL {
        let found = try SecureURL(Self.isAbsolute(path) ? path : string + relative(path))
        guard found.origin == url.origin else { throw Self.refusal("the API’s own origin \(url.origin)") }
        let location = found.path
        guard location.hasPrefix(basePath) || location + "/" == basePath, !Self.climbs(location) else {
            throw Self.refusal("a path below \(basePath)")
        }
        return found
    }

    private var basePath: String { url.path.hasSuffix("/") ? url.path : url.path + "/" }

    private func relative(_ path: String) throws -> Substring {
        // RFC 3986 §4.2: after two slashes a server name would follow.
        guard !path.hasPrefix("//") else { throw Self.refusal("a path below \(basePath)") }
        return path.hasPrefix("/") ? path.dropFirst() : path[...]
    }

    /// Returns whether the path is an absolute URL: a scheme, a colon (RFC 3986 §3.1) and two slashes.
    private static func isAbsolute(_ path: String) -> Bool {
        let scheme = path.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        return !scheme.isEmpty && path[scheme.endIndex...].hasPrefix("://")
    }

    /// Returns whether a server may read a segment of the path as `.` or `..` (RFC 3986 §5.2.4). Some servers decode
    /// the path first, and some treat an escaped slash as a slash.
    private static func climbs(_ path: String) -> Bool {
        let plain = path.lowercased().replacing("%2e", with: ".").replacing("%2f", with: "/").replacing(
            "%5c", with: "/")
        return plain.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    private static func refusal(_ expected: String) -> AuthError {
        AuthError(.invalidConfiguration, .resource, "expected \(expected), found another URL. Nothing was sent")
    }
}
