public import HTTPTypes

/// What a server says otherwise than the RFCs do: four functions between the wire and the library, each the standard's
/// own unless an app sets it.
///
/// The library itself speaks and reads the standard alone. A dialect translates: a request on its way out, a response
/// before it is read. It is code, so that no store keeps it: give it to the ``Environment`` at every start.
///
/// ```swift
/// var environment = Environment.live
/// environment.dialect.authorize = { token, fields in fields[.authorization] = "Token \(token.value.reveal())" }
/// ```
public struct Dialect: Sendable {
    /// Changes a token request that is ready to be sent (RFC 6749 §4, §6): its form, and the header fields with the
    /// client's authentication (§2.3). Called for refreshes too.
    public var tokenRequest: @Sendable (inout FormParameters, inout HTTPFields, Client) -> Void = { _, _, _ in }

    /// Translates a response of the token endpoint into the standard's words: a success (RFC 6749 §5.1) or an error
    /// (§5.2). What it returns is read as strictly as any response.
    public var tokenResponse: @Sendable (TransportResponse) -> TransportResponse = { $0 }

    /// Puts an access token on a request; by default into the `Authorization` field (RFC 6750 §2.1).
    public var authorize: @Sendable (AccessToken, inout HTTPFields) -> Void = { token, fields in
        fields[.authorization] = token.authorization
    }

    /// Whether a resource's response says that the token is dead, so that a new one is worth a second try; by default a 401
    /// with `invalid_token` (RFC 6750 §3.1).
    public var refusesToken: @Sendable (TransportResponse) -> Bool = \.saysInvalidToken

    /// The standard.
    public init() {}

    /// The standard.
    public static let standard = Dialect()
}

extension Environment {
    /// How the server differs from the RFCs.
    public var dialect: Dialect {
        get { self[Dialect.self] }
        set { self[Dialect.self] = newValue }
    }
}

extension Dialect: EnvironmentKey {
    package static var defaultValue: Dialect { .standard }
}
