public import AppAuthSession
internal import AppAuthProtocol

extension AuthState {
    /// Ends the session if the provider's logout token names it (OpenID Connect Back-Channel Logout §2.7). Its tokens
    /// are removed from memory and from the store, and ``changes`` reports the end.
    ///
    /// - Returns: Whether the token names this session; false if the session was already over.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if the store could not remove the session. Its tokens are
    ///   gone from memory anyway, and the logout token can be used again.
    @discardableResult
    public func end(by token: LogoutToken) async throws -> Bool {
        do { return try await endByProvider { token.names($0) } } catch {
            token.release()
            throw error
        }
    }

    /// Ends the session if it is the one that the provider has ended (OpenID Connect Front-Channel Logout §2).
    ///
    /// - Returns: Whether the request names this session; false if the session was already over.
    /// - Throws: As ``end(by:)-(LogoutToken)``.
    @discardableResult
    public func end(by logout: FrontChannelLogout) async throws -> Bool { try await endByProvider { logout.names($0) } }
}
