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
            let decoded = Self.escapesInDotSegments.reduce(path) { $0.replacing($1.escape, with: $1.character) }
            guard decoded != path else { return false }
            path = decoded
        }
    }

    private static let escapesInDotSegments: [(escape: String, character: String)] = [
        ("%2e", "."), ("%2f", "/"), ("%5c", "\\"), ("%3b", ";"), ("%25", "%"),
        // Overlong (RFC 3629 §3), and of full width.
        ("%c0%ae", "."), ("%c0%af", "/"), ("%e0%80%ae", "."), ("%e0%80%af", "/"), ("%ef%bc%8e", "."),
        ("%ef%bc%8f", "/"),
    ]
}

extension Substring {
    fileprivate var isDotSegment: Bool {
        let dots = prefix { $0 == "." }
        let rest = dropFirst(dots.count)
        return (1...2).contains(dots.count)
            && (rest.isEmpty
                || [";", "%0", "%1", "%20", "%23", "%3f", "%7f", "%c2%a0"].contains(where: rest.hasPrefix))
    }
}
