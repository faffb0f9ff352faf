public import AppAuthProtocol
internal import HTTPTypes
internal import JOSE

/// Asks a provider what tokens are worth (RFC 7662): for the servers that tokens are presented to.
///
/// ```swift
/// let introspection = try IntrospectionEndpoint(client: client, environment: .live)
/// let answer = try await introspection.introspect(token)
/// guard response.isActive, response.scope.contains("orders:read") else { return .forbidden }
/// ```
/// Safe to share. One for each client: it keeps the provider's keys, by which signed responses are verified.
public struct IntrospectionEndpoint: Sendable {
    /// Who asks: a client that the provider lets ask, with its authentication (RFC 7662 §2.1).
    public var client: Client { verification.client }
    /// Whether answers have to be signed (RFC 9701).
    public let isSigned: Bool
    private let verification: IDTokenVerification
    private let url: SecureURL

    /// Names who asks. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - client: Who asks.
    ///   - isSigned: Asks for signed JWTs (RFC 9701), which can be kept as evidence, and takes nothing else.
    ///   - environment: The HTTP client and the clock.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no introspection endpoint.
    public init(client: Client, isSigned: Bool = false, environment: Environment) throws {
        url = try client.require(.introspection)
        self.isSigned = isSigned
        verification = IDTokenVerification(client: client, environment: environment)
    }

    /// Asks about a token, and reads the response strictly. A signed response is verified with the provider's keys.
    ///
    /// One POST, not repeated; nothing is remembered of the response.
    ///
    /// - Parameters:
    ///   - token: The token that somebody presented.
    ///   - hint: What kind of token it seems to be, for example `refresh_token`; the provider looks elsewhere too (§2.1).
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func introspect(_ token: Secret, hint: String? = nil) async throws -> Introspection {
        var form = FormParameters()
        form.append("token", token.reveal())
        form.append("token_type_hint", hint)
        let environment = verification.environment
        // RFC 9701 §4.
        let accepted = isSigned ? "application/token-introspection+jwt" : "application/json"
        let response = try await ClientEndpoint(client: client, environment: environment)
            .post(form, to: url, stage: .introspection, accepting: accepted)
        guard response.status == .ok else { throw response.oauthError(from: url, stage: .introspection) }
        guard isSigned else { return try Introspection(response: response) }
        return try await SignedIntrospection(response).verified(by: verification)
    }
}
