/// A token and its kind, to be exchanged for another (RFC 8693 §2.1).
public struct SecurityToken: Sendable, Hashable {
    /// The token itself.
    public let value: Secret
    /// The kind of token.
    public let kind: Kind

    /// Creates a token with its kind.
    public init(_ value: Secret, kind: Kind) { (self.value, self.kind) = (value, kind) }

    /// A token type identifier (RFC 8693 §3). The type is open: any URI is possible.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The URI.
        public let rawValue: String
        /// Creates a kind from its URI.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An access token of this provider.
        public static let accessToken = Kind(rawValue: "urn:ietf:params:oauth:token-type:access_token")
        /// A refresh token of this provider.
        public static let refreshToken = Kind(rawValue: "urn:ietf:params:oauth:token-type:refresh_token")
        /// An ID token.
        public static let idToken = Kind(rawValue: "urn:ietf:params:oauth:token-type:id_token")
        /// A JWT of any other kind.
        public static let jwt = Kind(rawValue: "urn:ietf:params:oauth:token-type:jwt")
        /// A JWT about the user for another authorization server (ID-JAG, draft-ietf-oauth-identity-assertion-authz-grant).
        public static let identityAssertion = Kind(rawValue: "urn:ietf:params:oauth:token-type:id-jag")
        /// A SAML 1.1 assertion in base64url.
        public static let saml1 = Kind(rawValue: "urn:ietf:params:oauth:token-type:saml1")
        /// A SAML 2.0 assertion in base64url.
        public static let saml2 = Kind(rawValue: "urn:ietf:params:oauth:token-type:saml2")
    }
}
