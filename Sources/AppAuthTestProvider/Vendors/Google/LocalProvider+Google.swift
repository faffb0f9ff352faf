internal import HTTPTypes
internal import JOSE

extension LocalProvider.Configuration {
    /// A provider that behaves as Google does: refresh tokens by `access_type=offline`, and no scope offline_access, which
    /// it refuses on a page of its own.
    package static var google: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.issuesRefreshTokensByAccessType = true
        configuration.rotatesRefreshTokens = false
        configuration.translation = { reply, request, endpoint in
            switch endpoint {
            case .openIDConfiguration, .oauthMetadata: reply.withoutOfflineAccess
            case .authorization where request.query["scope"]?.split(separator: " ").contains("offline_access") == true:
                Reply(.badRequest, type: "text/html; charset=utf-8", "<!doctype html><title>invalid_scope</title>")
            default: reply
            }
        }
        return configuration
    }
}

extension Reply {
    fileprivate var withoutOfflineAccess: Reply {
        guard var members = (try? JSON(parsing: body))?.object, let scopes = members["scopes_supported"]?.strings else {
            return self
        }
        members["scopes_supported"] = .array(scopes.filter { $0 != "offline_access" }.map(JSON.string))
        var reply = self
        reply.body = Array(JSON.object(members).serialized().utf8)
        return reply
    }
}
