public import AppAuthSession
internal import AppAuthProtocol

extension AuthState {
    /// Ends the session if it is one that the provider has ended (OpenID Connect Back-Channel Logout §2.7): its tokens
    /// are gone from here and from the store, and the observers of ``AuthState/changes`` are notified.
    ///
    /// - Returns: Whether the token names this session; false also where it was over already.
    /// - Throws: ``AuthError`` with ``AuthError/Code/store`` if it could not be removed; memory has forgotten it anyway, and
    ///   the token can be used again.
    @discardableResult
    public func end(by token: LogoutToken) async throws -> Bool {
        do { return try await endByProvider { token.names($0) } } catch {
            token.release()
            throw error
        }
    }

    /// Ends the session if it is the one that the provider has ended (OpenID Connect Front-Channel Logout §2).
    ///
    /// - Returns: Whether the request names this session; false also where it was over already.
    /// - Throws: As ``end(by:)-(LogoutToken)``.
    @discardableResult
    public func end(by logout: FrontChannelLogout) async throws -> Bool { try await endByProvider { logout.names($0) } }
}
