public import FoundationNetworking

extension StoredSession {
    /// Adds a valid access token to a request, as ``AuthState/authenticate(_:)`` does, and keeps nothing in memory.
    ///
    /// ```swift
    /// let request = try await session.authenticate(URLRequest(url: url))
    /// ```
    /// - Throws: ``AuthError``, as ``StoredSession/use(_:)`` and ``AuthState/authenticate(_:)``:
    ///   ``AuthError/Code/signInRequired`` if nothing is stored, ``AuthError/Code/noRefreshToken``, the server's own
    ///   code, ``AuthError/Code/invalidResponse``; `CancellationError`.
    public func authenticate(_ request: URLRequest) async throws -> URLRequest {
        try await use { try await $0.authenticate(request) }
    }
}
