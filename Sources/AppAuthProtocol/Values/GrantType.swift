/// A grant type (RFC 6749 §1.3). The type is open: extension grants are named by their URI (RFC 6749 §4.5).
public struct GrantType: RawRepresentable, Hashable, Sendable {
    /// The value as it is sent.
    public let rawValue: String
    /// Creates a grant type.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The authorization code grant (RFC 6749 §4.1).
    public static let authorizationCode = GrantType(rawValue: "authorization_code")
    /// The refresh token grant (RFC 6749 §6).
    public static let refreshToken = GrantType(rawValue: "refresh_token")
    /// The client credentials grant (RFC 6749 §4.4).
    public static let clientCredentials = GrantType(rawValue: "client_credentials")
    /// The token exchange grant (RFC 8693 §2.1).
    public static let tokenExchange = GrantType(rawValue: "urn:ietf:params:oauth:grant-type:token-exchange")
    /// The JWT bearer grant (RFC 7523 §2.1).
    public static let jwtBearer = GrantType(rawValue: "urn:ietf:params:oauth:grant-type:jwt-bearer")
    /// The device authorization grant (RFC 8628 §3.4).
    public static let deviceCode = GrantType(rawValue: "urn:ietf:params:oauth:grant-type:device_code")
}
