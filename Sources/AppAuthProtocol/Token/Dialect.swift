public import HTTPTypes

/// A server's deviations from the RFCs: four functions between network and library. By default, they follow the
/// standard.
///
/// The library itself follows only the standard. A dialect translates requests before they are sent and responses
/// before they are read. It is code and is not stored: pass it to the ``Environment`` at every start.
///
/// ```swift
/// var environment = Environment.live
/// environment.dialect.authorize = { token, fields in fields[.authorization] = "Token \(token.value.reveal())" }
/// ```
public struct Dialect: Sendable {
    /// Changes a token request before it is sent (RFC 6749 §4, §6): its form, and the header fields with the client's
    /// authentication (§2.3). Also called for refreshes.
    public var tokenRequest: @Sendable (inout FormParameters, inout HTTPFields, Client) -> Void = { _, _, _ in }

    /// Translates a response of the token endpoint into the standard's form: a success (RFC 6749 §5.1) or an error
    /// (§5.2). The result is checked as strictly as any response.
    public var tokenResponse: @Sendable (TransportResponse) -> TransportResponse = { $0 }

    /// Adds an access token to a request; by default in the `Authorization` field (RFC 6750 §2.1).
    public var authorize: @Sendable (AccessToken, inout HTTPFields) -> Void = { token, fields in
        fields[.authorization] = token.authorization
    }

    /// Returns whether a resource's response reports the token as invalid, so that a retry with a new token makes
    /// sense. By default, a 401 with `invalid_token` (RFC 6750 §3.1). If the server has not said when a token expires, a 401
    /// without a reason counts too, whatever this returns.
    public var refusesToken: @Sendable (TransportResponse) -> Bool = \.saysInvalidToken

    /// Whether a response means that this token is invalid. Of a token whose lifetime the server has not told (Salesforce), the
    /// end shows only in a 401, which need not give a reason (RFC 6750 §3.1).
    package func refuses(_ token: AccessToken, in response: TransportResponse) -> Bool {
        refusesToken(response) || token.expiresAt == nil && response.mayRefuseToken
    }

    /// Creates the standard dialect.
    public init() {}

    /// The standard dialect.
    public static let standard = Dialect()
}

extension Environment {
    /// The server's deviations from the RFCs.
    public var dialect: Dialect {
        get { self[Dialect.self] }
        set { self[Dialect.self] = newValue }
    }
}

extension Dialect: EnvironmentKey {
    package static var defaultValue: Dialect { .standard }
}
