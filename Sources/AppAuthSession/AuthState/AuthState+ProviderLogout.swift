public import AppAuthProtocol

extension AuthState {
    /// Ends the session if the provider has ended it.
    ///
    /// - Parameter isNamed: Whether the provider's message names the session of an ID token.
    /// - Returns: Whether the session was ended by this call; false if it was over already.
    package func endByProvider(if isNamed: (IDToken) -> Bool) async throws -> Bool {
        // Another process may have stored or ended the session.
        _ = try? await perform(.read)
        // A session that has ended in memory may still be in a store that rejected its removal.
        guard record.end == nil || machine.unsaved != nil, let idToken = record.idToken, isNamed(idToken) else {
            return false
        }
        try await forget(because: "the provider has ended it")
        return true
    }
}

extension EndSessionRequest {
    /// Creates a request to sign out of a stored session; see ``init(client:idToken:postLogoutRedirectURI:)``.
    public init(record: AuthStateRecord, postLogoutRedirectURI: String?) throws {
        try self.init(client: record.client, idToken: record.idToken, postLogoutRedirectURI: postLogoutRedirectURI)
    }
}
