internal import Foundation
public import FoundationNetworking
internal import HTTPTypes

extension AuthState {
    /// Adds a valid access token to a request, refreshing it if necessary (RFC 6750 §2.1).
    ///
    /// If the tokens are bound to a key, the request also gets a DPoP proof, which is valid for this request only
    /// (RFC 9449 §7.1).
    ///
    /// On Linux, `URLSession` follows redirects and sends the `Authorization` field to any host they lead to.
    /// ``AuthenticatedURLSession`` does not.
    ///
    /// - Returns: The request with its `Authorization` field, or with what ``Dialect/authorize`` sets.
    /// - Throws: ``AuthError``, as ``AuthState/freshAccessToken(minimumValidity:forceRefresh:parameters:)``;
    ///   ``AuthError/Code/invalidConfiguration`` for a URL that is neither https nor http on loopback;
    ///   `CancellationError`.
    public nonisolated func authenticate(_ request: URLRequest) async throws -> URLRequest {
        try request.refuseUnsafeURL()
        let token = try await freshAccessToken()
        return try await request.authenticated(by: token, of: self).request
    }
}

extension URLRequest {
    /// Throws unless the URL is https, or http on loopback: no other URL may receive a token.
    func refuseUnsafeURL() throws {
        do { _ = try SecureURL(url?.absoluteURL.absoluteString ?? "") } catch var error as AuthError {
            error.stage = .resource
            throw error
        }
    }

    /// The method and URL as an `HTTPRequest`.
    private var unsent: HTTPRequest {
        let url = try? SecureURL(url?.absoluteURL.absoluteString ?? "")
        return HTTPRequest(
            method: httpMethod.flatMap { HTTPRequest.Method($0) } ?? .get, scheme: url?.scheme,
            authority: url?.authority, path: url?.pathAndQuery)
    }

    /// Returns the request with its token, and with a DPoP proof if the session has a key.
    func authenticated(
        by token: AccessToken, of state: AuthState
    ) async throws -> (request: URLRequest, proof: DPoPProof?) {
        var unsent = unsent
        state.environment.dialect.authorize(token, &unsent.headerFields)
        let proven = try await state.proof?.proven(unsent, with: token, in: state.environment)
        var request = self
        for field in (proven?.request ?? unsent).headerFields {
            request.setValue(field.value, forHTTPHeaderField: field.name.rawName)
        }
        return (request, proven?.proof)
    }
}
