public import AppAuthProtocol

extension AuthState {
    /// Ends the session if it is one that the provider has ended.
    ///
    /// - Parameter isNamed: Whether what the provider sent names the session of an ID token.
    /// - Returns: Whether it did; false also where the session was over already.
    package func endByProvider(if isNamed: (IDToken) -> Bool) async throws -> Bool {
        // What another process has stored, or ended, counts.
        _ = try? await perform(.read)
        // What memory has forgotten may still be in a store that refused to remove it.
        guard record.end == nil || machine.isUnsaved, let idToken = record.idToken, isNamed(idToken) else {
            return false
        }
        try await forget(because: "the provider has ended it")
        return true
    }
}

extension EndSessionRequest {
    /// Makes a request that signs out of a stored session; see ``init(client:idToken:postLogoutRedirectURI:)``.
    public init(record: AuthStateRecord, postLogoutRedirectURI: String?) throws {
        try self.init(client: record.client, idToken: record.idToken, postLogoutRedirectURI: postLogoutRedirectURI)
    }
}
