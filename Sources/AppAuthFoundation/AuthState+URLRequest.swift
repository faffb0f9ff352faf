internal import Foundation
public import FoundationNetworking
internal import HTTPTypes

extension AuthState {
    /// Puts a valid access token on a request, refreshed if needed (RFC 6750 §2.1). If the tokens are bound to a key, its
    /// proof comes with it, which is good for this request alone (RFC 9449 §7.1).
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
        let token = try await freshAccessToken()
        return try request.authenticated(by: token, of: self).request
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

    /// Method and URL, for those who know nothing of Foundation.
    private var unsent: HTTPRequest {
        let url = try? SecureURL(url?.absoluteURL.absoluteString ?? "")
        return HTTPRequest(
            method: httpMethod.flatMap { HTTPRequest.Method($0) } ?? .get, scheme: url?.scheme,
            authority: url?.authority, path: url?.pathAndQuery)
    }

    /// The request with its token, and with a proof if the session has a key.
    func authenticated(
        by token: AccessToken, of state: AuthState
    ) throws -> (request: URLRequest, proof: DPoPProof?) {
        var unsent = unsent
        state.environment.dialect.authorize(token, &unsent.headerFields)
        let proof = try state.proof?.prove(&unsent, with: token, at: state.environment.now())
        var request = self
        for field in unsent.headerFields { request.setValue(field.value, forHTTPHeaderField: field.name.rawName) }
        return (request, proof)
    }
}
