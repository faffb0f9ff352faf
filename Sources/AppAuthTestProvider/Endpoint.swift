/// The places of a service that tests count, hold and fault.
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
    /// The login, account and consent pages that an authorization request leads to, and their forms.
    package static let interaction = Endpoint("interaction")
    package static let token = Endpoint("token")
    package static let userInfo = Endpoint("userInfo")
    /// The demo resource `/api/echo`.
    package static let api = Endpoint("api")
    package static let revocation = Endpoint("revocation")
    package static let introspection = Endpoint("introspection")
    package static let endSession = Endpoint("endSession")
    /// Where devices ask for a code (RFC 8628 §3.1).
    package static let deviceAuthorization = Endpoint("deviceAuthorization")
    /// The page where people enter it (RFC 8628 §3.3).
    package static let deviceVerification = Endpoint("deviceVerification")
    /// Everything else: answered with 404.
    package static let none = Endpoint("none")
}
