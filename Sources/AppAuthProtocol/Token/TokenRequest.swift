/// The parameters of a token request. A pure value, sent by ``ClientEndpoint``.
package struct TokenRequest: Sendable {
    package let form: FormParameters

    package init(_ grantType: GrantType, _ parameters: [(name: String, value: String?)]) {
        var form = FormParameters()
        form.append("grant_type", grantType.rawValue)
        for parameter in parameters { form.append(parameter.name, parameter.value) }
        self.form = form
    }

    /// Creates the request for a code (RFC 6749 §4.1.3) with its verifier (RFC 7636 §4.5).
    package static func exchange(_ grant: AuthorizationGrant, _ request: AuthorizationRequest) -> TokenRequest {
        TokenRequest(
            .authorizationCode,
            [
                ("code", grant.code.reveal()), ("redirect_uri", request.redirectURI),
                ("code_verifier", request.pkce.codeVerifier.reveal()),
            ] + request.options.resources.map { ("resource", $0) })
    }

    /// Creates a refresh request (RFC 6749 §6). It has a scope only if the caller wants fewer: without one, the
    /// response is for all that was granted, and `offline_access` confuses some servers.
    package static func refresh(_ refreshToken: Secret, _ parameters: TokenParameters = .session) throws -> TokenRequest
    {
        try TokenRequest(.refreshToken, [("refresh_token", refreshToken.reveal())] + parameters.form())
    }

    /// Creates the request for a grant (RFC 6749 §4.4.2, §4.5). The caller's parameters take precedence over those with
    /// which the session began.
    package static func present(_ grant: TokenGrant, _ parameters: TokenParameters = .session) throws -> TokenRequest {
        var asked = parameters
        asked.scope = parameters.scope ?? (grant.scope.isEmpty ? nil : grant.scope)
        if parameters.resources.isEmpty { asked.resources = grant.resources }
        let own = grant.parameters.sorted { $0.key < $1.key }.map { ($0.key, Optional($0.value.reveal())) }
        return try TokenRequest(grant.type, own + asked.form().filter { grant.parameters[$0.name] == nil })
    }

    /// Creates the request for a device code (RFC 8628 §3.4).
    package static func deviceCode(_ deviceCode: Secret, resources: [String] = []) -> TokenRequest {
        TokenRequest(.deviceCode, [("device_code", deviceCode.reveal())] + resources.map { ("resource", $0) })
    }
}
