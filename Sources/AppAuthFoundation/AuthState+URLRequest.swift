internal import Foundation
public import FoundationNetworking
internal import HTTPTypes

extension AuthState {
    /// Puts a valid access token on a request, refreshed if needed (RFC 6750 §2.1).
    ///
    /// Mind what `URLSession` on Linux does with it: it follows redirects, and sends the `Authorization` field to whatever
    /// host they lead to. ``AuthenticatedURLSession`` does not.
    ///
    /// - Returns: The request with its `Authorization` field, or what ``Dialect/authorize`` sets.
    /// - Throws: ``AuthError``, as ``AuthState/freshAccessToken(minimumValidity:forceRefresh:parameters:)``;
    ///   ``AuthError/Code/invalidConfiguration`` for a URL that must not get a token, which is any but https, and http on
    ///   loopback; `CancellationError`.
    public nonisolated func authenticate(_ request: URLRequest) async throws -> URLRequest {
        try request.refuseUnsafeURL()
        return request.authenticated(by: try await freshAccessToken(), environment.dialect)
    }
}

extension URLRequest {
    /// A token goes to https alone, or to this machine.
    func refuseUnsafeURL() throws {
        do { _ = try SecureURL(url?.absoluteURL.absoluteString ?? "") } catch var error as AuthError {
            error.stage = .resource
            throw error
        }
    }

    func authenticated(by token: AccessToken, _ dialect: Dialect) -> URLRequest {
        var (request, fields) = (self, HTTPFields())
        dialect.authorize(token, &fields)
        for field in fields { request.setValue(field.value, forHTTPHeaderField: field.name.rawName) }
        return request
    }
}
