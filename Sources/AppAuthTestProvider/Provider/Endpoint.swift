extension LocalProvider {
    /// An endpoint of the provider, at which tests can count, hold and fault requests.
    public struct Endpoint: RawRepresentable, Sendable, Hashable {
        /// The name of the endpoint.
        public let rawValue: String

        /// Creates an endpoint of this name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// `<issuer>/.well-known/openid-configuration` (OpenID Connect Discovery §4).
        public static let openIDConfiguration = Endpoint(rawValue: "openIDConfiguration")
        /// `/.well-known/oauth-authorization-server<path of the issuer>` (RFC 8414 §3.1).
        public static let oauthMetadata = Endpoint(rawValue: "oauthMetadata")
        /// `/.well-known/webfinger` (RFC 7033 §4).
        public static let webFinger = Endpoint(rawValue: "webFinger")
        /// The provider's public keys (`jwks_uri`).
        public static let keys = Endpoint(rawValue: "keys")
        /// The authorization endpoint (RFC 6749 §3.1).
        public static let authorization = Endpoint(rawValue: "authorization")
        /// The login, account and consent pages of an authorization request, and their forms.
        public static let interaction = Endpoint(rawValue: "interaction")
        /// The endpoint to which the pages return if they are at an origin of their own.
        package static let resume = Endpoint(rawValue: "resume")
        /// The token endpoint (RFC 6749 §3.2).
        public static let token = Endpoint(rawValue: "token")
        /// The userinfo endpoint (OpenID Connect Core §5.3).
        public static let userInfo = Endpoint(rawValue: "userInfo")
        /// The demo resource `/api/echo`, which needs an access token.
        public static let api = Endpoint(rawValue: "api")
        /// `/.well-known/oauth-protected-resource<path of the demo resource>` (RFC 9728 §3.1).
        package static let resourceMetadata = Endpoint(rawValue: "resourceMetadata")
        /// The revocation endpoint (RFC 7009).
        public static let revocation = Endpoint(rawValue: "revocation")
        /// The introspection endpoint (RFC 7662).
        public static let introspection = Endpoint(rawValue: "introspection")
        /// The end-session endpoint (OpenID Connect RP-Initiated Logout §2).
        public static let endSession = Endpoint(rawValue: "endSession")
        /// The endpoint at which devices request a code (RFC 8628 §3.1).
        public static let deviceAuthorization = Endpoint(rawValue: "deviceAuthorization")
        /// The page where users enter the code (RFC 8628 §3.3).
        public static let deviceVerification = Endpoint(rawValue: "deviceVerification")
        /// The endpoint at which clients push authorization requests (RFC 9126 §2).
        package static let pushedAuthorization = Endpoint(rawValue: "pushedAuthorization")
        /// The backchannel authentication endpoint (CIBA Core §7).
        package static let backchannelAuthentication = Endpoint(rawValue: "backchannelAuthentication")
        /// The registration endpoint (RFC 7591 §3).
        package static let clientRegistration = Endpoint(rawValue: "clientRegistration")
        /// The configuration endpoint of each client (RFC 7592 §2).
        package static let clientConfiguration = Endpoint(rawValue: "clientConfiguration")
        /// The endpoint of distributed claims (OpenID Connect Core §5.6.2.2).
        package static let foreignClaims = Endpoint(rawValue: "foreignClaims")
        /// The pictures of the users.
        package static let picture = Endpoint(rawValue: "picture")
        /// Every other URL: 404.
        public static let none = Endpoint(rawValue: "none")
    }
}

// Short names inside this package. An app sees the nested types, which do not collide with its own.
package typealias Endpoint = LocalProvider.Endpoint
package typealias Fault = LocalProvider.Fault
package typealias Hold = LocalProvider.Hold
package typealias User = LocalProvider.User
