/// The provider's identifier and the URLs below it.
struct Issuer: Sendable {
    /// The scheme, host and port.
    let origin: String
    /// The path: empty, or with a leading slash and without a trailing one.
    let path: String

    var identifier: String { origin + path }

    /// The issuer of ID tokens for any tenant.
    var template: String { issuer(of: "{tenantid}") }

    func issuer(of tenant: String) -> String { "\(origin)/\(tenant)/v2.0" }

    var scheme: String { String(origin.prefix { $0 != ":" }) }

    /// The path of each endpoint on this host.
    private let paths: [Endpoint: String]

    init(
        origin: String, path: String, appendsOAuthMetadata: Bool = false, insertsOpenID: Bool = false,
        resourceMetadata: String? = nil
    ) {
        (self.origin, self.path) = (origin, path)
        paths = [
            .openIDConfiguration: insertsOpenID
                ? "/.well-known/openid-configuration" + path : path + "/.well-known/openid-configuration",
            // RFC 8414 §3.1: the well-known part is between the host and the issuer's path.
            .oauthMetadata: appendsOAuthMetadata
                ? path + "/.well-known/oauth-authorization-server" : "/.well-known/oauth-authorization-server" + path,
            // RFC 7033 §4: one for the host.
            .webFinger: "/.well-known/webfinger",
            .keys: path + "/jwks",
            .authorization: path + "/authorize",
            .interaction: path + "/interaction",
            .resume: path + "/resume",
            .token: path + "/token",
            .userInfo: path + "/userinfo",
            .api: path + "/api/echo",
            .resourceMetadata: resourceMetadata ?? ResourceDescription.originLocation + path + "/api/echo",
            .revocation: path + "/revoke",
            .introspection: path + "/introspect",
            .endSession: path + "/end_session",
            .pushedAuthorization: path + "/par",
            .deviceAuthorization: path + "/device_authorization",
            .backchannelAuthentication: path + "/bc-authorize",
            .foreignClaims: path + "/claims",
            .picture: path + "/pictures",
            .clientRegistration: path + "/register",
            .clientConfiguration: path + "/clients",
            // RFC 8628 §3.3: short, since users type it.
            .deviceVerification: path + "/device",
        ]
    }

    func url(_ endpoint: Endpoint) -> String { origin + self.path(of: endpoint) }

    /// Returns the path of an endpoint on this host.
    func path(of endpoint: Endpoint) -> String { paths[endpoint] ?? path + "/" }

    /// The endpoints whose path continues with an id.
    private static let endpointsWithIDs: [Endpoint] = [.interaction, .clientConfiguration, .foreignClaims, .picture]

    /// Returns the endpoint at a path.
    func endpoint(at requested: String) -> Endpoint {
        if let endpoint = Self.endpointsWithIDs.first(where: { requested.hasPrefix(path(of: $0) + "/") }) {
            return endpoint
        }
        return paths.first { $0.value == requested }?.key ?? .none
    }
}
