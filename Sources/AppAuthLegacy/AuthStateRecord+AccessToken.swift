public import AppAuthProtocol
public import AppAuthSession

extension AuthStateRecord {
    /// The access token as it is stored, even if it has expired or a server has rejected it; nil after the session has
    /// ended.
    ///
    /// It is for a diagnosis of the token, and for servers that expect the old token. Send requests with
    /// ``AuthState/send(_:)``, which gets a valid one.
    public var storedAccessToken: AccessToken? { accessToken }
}
