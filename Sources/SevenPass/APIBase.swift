internal import AppAuth

/// Where an API begins, and what is below it: nothing else may get a token.
struct APIBase: Sendable {
    /// Ends with a slash.
    private let string: String
    private let url: SecureURL

    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for what is no https URL (or http on
    ///   loopback), or has a query.
    init(_ base: String) throws {
        let url = try SecureURL(base)
        guard url.query == nil else { throw Self.refusal("a base without a query") }
        self.url = url
        string = base.hasSuffix("/") ? base : base + "/"
    }

    /// The URL of a path below the base.
    ///
    /// - Parameter path: With a slash in front or without, and with a query or without. A whole URL counts if it is below
    ///   the base.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` for everything else, above all for another
    ///   origin, and for `..`, whichever way it is written.
    func url(of path: String) throws -> SecureURL {
        let found = try SecureURL(Self.isAbsolute(path) ? path : string + relative(path))
        guard found.origin == url.origin else { throw Self.refusal("the API's own origin \(url.origin)") }
        let location = found.path
        guard location.hasPrefix(basePath) || location + "/" == basePath, !Self.climbs(location) else {
            throw Self.refusal("a path below \(basePath)")
        }
        return found
    }

    private var basePath: String { url.path.hasSuffix("/") ? url.path : url.path + "/" }

    private func relative(_ path: String) throws -> Substring {
        // RFC 3986 §4.2: two slashes would begin the name of a host.
        guard !path.hasPrefix("//") else { throw Self.refusal("a path below \(basePath)") }
        return path.hasPrefix("/") ? path.dropFirst() : path[...]
    }

    /// RFC 3986 §3.1: a scheme, a colon, and here two slashes.
    private static func isAbsolute(_ path: String) -> Bool {
        let scheme = path.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        return !scheme.isEmpty && path[scheme.endIndex...].hasPrefix("://")
    }

    /// Whether a server may take a part of the path for `.` or `..` (RFC 3986 §5.2.4). Some decode before they look, some
    /// take an escaped slash for one.
    private static func climbs(_ path: String) -> Bool {
        let plain = path.lowercased().replacing("%2e", with: ".").replacing("%2f", with: "/").replacing(
            "%5c", with: "/")
        return plain.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    private static func refusal(_ expected: String) -> AuthError {
        AuthError(
            .invalidConfiguration, .resource, "expected \(expected), found another; nothing was sent", outcome: .notSent
        )
    }
}
