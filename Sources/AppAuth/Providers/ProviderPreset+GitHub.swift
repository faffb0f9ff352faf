public import AppAuthProtocol
internal import AppAuthSession

extension ProviderPreset {
    /// GitHub, for OAuth apps and GitHub Apps: OAuth without OpenID Connect, and without discovery. It requests no scope,
    /// which gives access to public data; name others for more.
    public static let gitHub: ProviderPreset = {
        var preset = ProviderPreset(issuer: "https://github.com/login/oauth")
        preset.metadata = [
            "authorization_endpoint": "https://github.com/login/oauth/authorize",
            "token_endpoint": "https://github.com/login/oauth/access_token",
            "device_authorization_endpoint": "https://github.com/login/device/code",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
        ]
        preset.scope = []
        preset.dialect = .gitHub
        return preset
    }()
}

extension Dialect {
    /// The dialect of GitHub's token endpoint, which separates scopes with commas, and has error codes of its own.
    public static let gitHub: Dialect = {
        // Those that are not here have no counterpart in RFC 6749 §5.2.
        let codes = [
            "bad_verification_code": "invalid_grant", "bad_refresh_token": "invalid_grant",
            "incorrect_client_credentials": "invalid_client",
        ]
        var dialect = Dialect()
        dialect.tokenResponse = { response in
            guard var members = (try? response.parsedBody)?.object else { return response }
            if let scope = members["scope"]?.string { members["scope"] = .string(scope.replacing(",", with: " ")) }
            if let code = members["error"]?.string { members["error"] = .string(codes[code] ?? code) }
            var response = response
            response.body = Array(JSON.object(members).serialized().utf8)
            return response
        }
        return dialect
    }()
}
