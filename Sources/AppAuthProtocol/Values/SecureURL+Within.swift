internal import JOSE

extension SecureURL {
    /// Whether this URL is the other one, or below its path. The query counts only if the other URL has one, which must be
    /// the beginning of this URL's query: RFC 8707 §2 allows one in the name of a resource.
    package func isWithin(_ other: SecureURL) -> Bool {
        // A client or a server may resolve such a path to one that is not below the other.
        guard origin == other.origin, !path.mayLeaveFolder else { return false }
        if let named = other.query {
            return path == other.path && (query == named || query?.hasPrefix(named + "&") == true)
        }
        let folder = other.path.hasSuffix("/") ? other.path : other.path + "/"
        return (path + "/").hasPrefix(folder)
    }
}

extension String {
    /// Whether a path has dot segments, or escapes that form some after a server has decoded them once or more. Some
    /// servers ignore what follows a semicolon, a blank or a control character. Other escapes, such as that of a slash, are
    /// data.
    fileprivate var mayLeaveFolder: Bool {
        var path = lowercased()
        while true {
            let segments = path.split { "/\\".contains($0) }
            if segments.contains(where: \.isDotSegment) { return true }
            guard path.contains("%") else { return false }
            let decoded = Self.escapesInDotSegments.reduce(path) { $0.replacing($1.escape, with: $1.character) }
            guard decoded != path else { return false }
            path = decoded
        }
    }

    private static let escapesInDotSegments: [(escape: String, character: String)] =
        [
            ("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%3b", ";"), ("%25", "%"),
            // Overlong (RFC 3629 §3), and other dots and slashes of Unicode.
            ("%c0%ae", "."), ("%c0%2e", "."), ("%e0%80%ae", "."), ("%f0%80%80%ae", "."), ("%f8%80%80%80%ae", "."),
            ("%c0%af", "/"), ("%e0%80%af", "/"), ("%f0%80%80%af", "/"), ("%f8%80%80%80%af", "/"), ("%c1%9c", "\\"),
            ("%e0%81%9c", "\\"), ("%e2%80%a4", "."),
            ("%e2%80%a5", ".."), ("%ef%b9%92", "."), ("%ef%bc%8e", "."), ("%ef%bc%8f", "/"),
        ] + alphanumeric

    /// The escapes of digits and letters, which can be those of another escape.
    private static let alphanumeric = (UInt8(0x30)...0x7A).filter(\.isASCIIAlphanumeric).map { byte in
        (escape: "%" + String(byte, radix: 16), character: String(UnicodeScalar(byte)).lowercased())
    }
}

extension Substring {
    /// Whether a segment is one of dots, without the blanks and control characters around them, and what follows the path.
    fileprivate var isDotSegment: Bool {
        var rest = self
        while let blank = Self.blanks.first(where: rest.hasPrefix) { rest = rest.dropFirst(blank.count) }
        let dots = rest.prefix { $0 == "." }
        rest = rest.dropFirst(dots.count)
        return (1...2).contains(dots.count)
            && (rest.isEmpty || (Self.blanks + [";", "%23", "%3f"]).contains(where: rest.hasPrefix))
    }

    private static let blanks =
        (0...0x20).map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) } + ["%7f", "%c2%a0"]
}
