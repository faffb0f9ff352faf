/// The places of the provider that tests count, hold and fault.
package enum Endpoint: String, Sendable, Hashable, CaseIterable {
    /// `<issuer>/.well-known/openid-configuration` (OpenID Connect Discovery §4).
    case openIDConfiguration
    /// `/.well-known/oauth-authorization-server<path of the issuer>` (RFC 8414 §3.1).
    case oauthMetadata
    case keys
    case authorization
    /// The login, account and consent pages that an authorization request leads to, and their forms.
    case interaction
    case token
    case userInfo
    /// The demo resource `/api/echo`.
    case api
    case revocation
    case introspection
    case endSession
    /// Where devices ask for a code (RFC 8628 §3.1).
    case deviceAuthorization
    /// The page where people enter it (RFC 8628 §3.3).
    case deviceVerification
    /// Everything else: answered with 404.
    case none
}
