public import AppAuthProtocol

extension AuthStateRecord {
    /// Returns whether a URL belongs to a resource of this session: one that the sign-in has requested tokens for, or one
    /// that the authorization server lists (`protected_resources`, RFC 9728 §4).
    ///
    /// Check this before you meet the demand of a resource (``StepUpChallenge``). Another API could otherwise demand
    /// scopes that have nothing to do with it, and would get a token with them.
    public func isOwnResource(_ url: SecureURL) -> Bool {
        let listed = (client.provider.document["protected_resources"] ?? nil)?.strings ?? []
        return (resources + listed).compactMap { try? SecureURL($0) }.contains(where: url.isWithin)
    }
}

extension SecureURL {
    /// Whether this URL is the other one, or below its path.
    package func isWithin(_ other: SecureURL) -> Bool {
        guard origin == other.origin else { return false }
        guard other.query == nil else { return pathAndQuery == other.pathAndQuery }
        // A client or a server may resolve such a path to one that is not below the other.
        guard !path.mayLeaveFolder else { return false }
        return path == other.path || path.hasPrefix(other.path.hasSuffix("/") ? other.path : other.path + "/")
    }
}

extension String {
    /// Whether a path has dot segments, or escapes that can form some. Some servers ignore what follows a semicolon.
    fileprivate var mayLeaveFolder: Bool {
        let path = lowercased().replacing("%2e", with: ".")
        guard !path.contains("%2f"), !path.contains("%5c"), !path.contains("%25"), !path.contains("%3b") else {
            return true
        }
        return path.split(separator: "/").contains { [".", ".."].contains($0.prefix { $0 != ";" }) }
    }
}
