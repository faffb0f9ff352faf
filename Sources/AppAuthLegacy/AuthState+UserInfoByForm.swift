public import AppAuthProtocol
public import AppAuthSession
internal import HTTPTypes

extension AuthState {
    /// Fetches the user's claims with the access token in the body of a POST (RFC 6750 §2.2), for a userinfo endpoint
    /// that accepts it only there.
    ///
    /// Prefer ``AuthState/userInfo()``: logs omit header fields more often than bodies. The response is checked in the
    /// same way. If the server rejects the token, it is not refreshed.
    ///
    /// - Throws: As ``AuthState/userInfo()``; ``AuthError/Code/invalidConfiguration`` if the tokens are bound to a key:
    ///   the key's proof belongs in a header field (RFC 9449 §7.1).
    public func userInfoByForm() async throws -> Claims {
        let client = record.client
        guard client.dpop == nil else {
            throw AuthError(
                .invalidConfiguration, .userInfo, "expected a bearer token for a form, found one bound to a key")
        }
        let url = try client.require(.userInfo)
        var form = FormParameters()
        form.append("access_token", try await freshAccessToken().value.reveal())
        var request = HTTPRequest(method: .post, url: url)
        request.headerFields[.accept] = "application/json, application/jwt"
        request.headerFields[.contentType] = "application/x-www-form-urlencoded"
        let transportRequest = TransportRequest(request, body: Array(form.encoded.utf8))
        return try await userInfo(in: environment.send(transportRequest, stage: .userInfo), from: url)
    }
}
