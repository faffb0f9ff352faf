public import AppAuthProtocol

extension AuthStateRecord {
    /// Returns whether a URL belongs to a resource of this session: one that the sign-in has requested tokens for, or if it has
    /// named none, one that the authorization server lists (`protected_resources`, RFC 9728 §4). A server that another
    /// resource has named could list any.
    ///
    /// Check this before you meet the demand of a resource (``StepUpChallenge``). Another API could otherwise demand
    /// scopes that have nothing to do with it, and would get a token with them.
    public func isOwnResource(_ url: SecureURL) -> Bool {
        let listed = client.provider.document["protected_resources"]?.strings ?? []
        return (resources.isEmpty ? listed : resources).compactMap { try? SecureURL($0) }.contains(where: url.isWithin)
    }
}
