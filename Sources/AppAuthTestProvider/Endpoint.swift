/// An endpoint of a service, at which tests can count, hold and fault requests.
package struct Endpoint: RawRepresentable, Sendable, Hashable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }

    private init(_ name: String) { rawValue = name }

    /// `<issuer>/.well-known/openid-configuration` (OpenID Connect Discovery §4).
    package static let openIDConfiguration = Endpoint("openIDConfiguration")
    /// `/.well-known/oauth-authorization-server<path of the issuer>` (RFC 8414 §3.1).
    package static let oauthMetadata = Endpoint("oauthMetadata")
    /// `/.well-known/webfinger` (RFC 7033 §4).
    package static let webFinger = Endpoint("webFinger")
    package static let keys = Endpoint("keys")
    package static let authorization = Endpoint("authorization")
    /// The login, account and consent pages of an authorization request, and their forms.
    package static let interaction = Endpoint("interaction")
    package static let token = Endpoint("token")
    package static let userInfo = Endpoint("userInfo")
    /// The demo resource `/api/echo`.
    package static let api = Endpoint("api")
    package static let revocation = Endpoint("revocation")
    package static let introspection = Endpoint("introspection")
    package static let endSession = Endpoint("endSession")
    /// The endpoint at which devices request a code (RFC 8628 §3.1).
    package static let deviceAuthorization = Endpoint("deviceAuthorization")
    /// The page where users enter the code (RFC 8628 §3.3).
    package static let deviceVerification = Endpoint("deviceVerification")
    /// Every other URL: 404.
    package static let none = Endpoint("none")
}
