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
    /// servers ignore what follows a semicolon, or an escape that is no character of a name. Other escapes, such as that of a slash, are data.
    fileprivate var mayLeaveFolder: Bool {
        var path = lowercased()
        while true {
            let segments = path.split { "/\\".contains($0) }
            if segments.contains(where: { [".", ".."].contains($0.prefix { !";%".contains($0) }) }) { return true }
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
