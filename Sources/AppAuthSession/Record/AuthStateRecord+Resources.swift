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
