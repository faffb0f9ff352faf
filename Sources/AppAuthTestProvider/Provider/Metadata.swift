/// The values that the provider supports and announces in its metadata (OpenID Connect Discovery §3).
enum Metadata {
    static let scopes = ["openid", "profile", "email", "phone", "address", "offline_access", "api"]
    static let promptValues = ["none", "login", "consent", "select_account"]
    static let displayValues = ["page", "popup", "touch", "wap"]
    /// The authentication context of a password.
    static let acr = "urn:local-provider:password"
}

/// The grant types (`grant_type`) that are not those of a particular provider.
enum GrantType {
    /// RFC 8628 §3.4.
    static let deviceCode = "urn:ietf:params:oauth:grant-type:device_code"
    /// RFC 8693 §2.1.
    static let tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    /// RFC 7523 §2.1.
    static let assertion = "urn:ietf:params:oauth:grant-type:jwt-bearer"
    /// CIBA Core §10.1.
    static let backchannel = "urn:openid:params:grant-type:ciba"

    static let all = [
        "authorization_code", "refresh_token", "client_credentials", "password", deviceCode, tokenExchange, assertion,
        backchannel,
    ]
}
