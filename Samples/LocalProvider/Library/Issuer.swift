/// The provider's identifier and the URLs below it.
struct Issuer: Sendable {
    /// Scheme, host and port.
    let origin: String
    /// Empty, or a path that begins with a slash and does not end with one.
    let path: String

    var identifier: String { origin + path }

    func url(_ endpoint: Endpoint) -> String { origin + self.path(of: endpoint) }

    /// The path of an endpoint on this host.
    func path(of endpoint: Endpoint) -> String {
        switch endpoint {
        case .openIDConfiguration: path + "/.well-known/openid-configuration"
        // RFC 8414 §3.1: the well-known part stands between the host and the issuer's path.
        case .oauthMetadata: "/.well-known/oauth-authorization-server" + path
        case .keys: path + "/jwks"
        case .authorization: path + "/authorize"
        case .interaction: path + "/interaction"
        case .token: path + "/token"
        case .userInfo: path + "/userinfo"
        case .api: path + "/api/echo"
        case .revocation: path + "/revoke"
        case .introspection: path + "/introspect"
        case .endSession: path + "/end_session"
        case .deviceAuthorization: path + "/device_authorization"
        // RFC 8628 §3.3: short, since people type it.
        case .deviceVerification: path + "/device"
        case .none: path + "/"
        }
    }

    /// The endpoint at a path, and what follows its name: an interaction's id.
    func endpoint(at requested: String) -> Endpoint {
        if requested.hasPrefix(path(of: .interaction) + "/") { return .interaction }
        return Endpoint.allCases.first { $0 != .none && path(of: $0) == requested } ?? .none
    }
}
