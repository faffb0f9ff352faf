internal import HTTPTypes
internal import JOSE

extension LocalProvider.Configuration {
    /// A provider that responds as GitHub does: no discovery, errors with the status 200 and codes of its own, scopes
    /// separated by commas, and forms unless the client asks for JSON.
    package static var gitHub: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.givesRefreshTokensUnasked = true
        configuration.sendsIssuerParameter = false
        configuration.translation = { reply, request, endpoint in
            switch endpoint {
            case .openIDConfiguration, .oauthMetadata: Reply(.notFound)
            case .token, .deviceAuthorization: reply.asGitHub(to: request)
            default: reply
            }
        }
        return configuration
    }
}

extension Reply {
    fileprivate func asGitHub(to request: Request) -> Reply {
        guard var members = (try? JSON(parsing: body))?.object else { return self }
        members["error"] = members["error"]?.string.map { .string(Self.gitHubCode($0, for: request)) }
        members["scope"] = members["scope"]?.string.map { .string($0.replacing(" ", with: ",")) }
        var reply = self
        reply.status = .ok
        guard request.headers[.accept]?.contains("application/json") == true else {
            reply.headers[.contentType] = "application/x-www-form-urlencoded"
            reply.body = Array(FormCoding.encode(members.members.map { ($0.name, $0.value.string ?? "") }).utf8)
            return reply
        }
        reply.body = Array(JSON.object(members).serialized().utf8)
        return reply
    }

    private static func gitHubCode(_ code: String, for request: Request) -> String {
        switch (code, request.form?["grant_type"]) {
        case ("invalid_grant", "refresh_token"): "bad_refresh_token"
        case ("invalid_grant", "authorization_code"): "bad_verification_code"
        case ("invalid_client", _): "incorrect_client_credentials"
        default: code
        }
    }
}
