public import AppAuthProtocol
internal import HTTPTypes
internal import JOSE

/// Asks a provider about the validity of tokens (RFC 7662). For resource servers.
///
/// ```swift
/// let introspection = try IntrospectionEndpoint(client: client, environment: .live)
/// let response = try await introspection.introspect(token)
/// guard response.isActive, response.scope.contains("orders:read") else { throw Forbidden() }
/// ```
/// Safe to share. Use one for each client: it keeps the provider's keys, which verify signed responses.
public struct IntrospectionEndpoint: Sendable {
    /// The client that the provider allows to ask, with its authentication (RFC 7662 §2.1).
    public var client: Client { verifier.client }
    /// Whether responses must be signed (RFC 9701).
    public let isSigned: Bool
    private let verifier: JWTVerifier
    private let url: SecureURL

    /// Creates an endpoint and sends nothing.
    ///
    /// - Parameters:
    ///   - client: The client that asks.
    ///   - isSigned: Requires signed JWTs (RFC 9701), which can be kept as evidence.
    ///   - environment: The HTTP client and the clock.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no introspection endpoint.
    public init(client: Client, isSigned: Bool = false, environment: Environment) throws {
        url = try client.require(.introspection)
        self.isSigned = isSigned
        verifier = JWTVerifier(client: client, environment: environment)
    }

    /// Asks about a token, and checks the response strictly. A signed response is verified with the provider's keys.
    ///
    /// Sends one POST and never repeats it. The response is not cached.
    ///
    /// - Parameters:
    ///   - token: The token that was presented.
    ///   - hint: The probable type of the token, for example `refresh_token`. The provider also searches the others
    ///     (§2.1).
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func introspect(_ token: Secret, hint: String? = nil) async throws -> Introspection {
        var form = FormParameters()
        form.append("token", token.reveal())
        form.append("token_type_hint", hint)
        let environment = verifier.environment
        // RFC 9701 §4.
        let accepted = isSigned ? "application/token-introspection+jwt" : "application/json"
        let response = try await ClientEndpoint(client: client, environment: environment)
            .post(form, to: url, stage: .introspection, accepting: accepted)
        guard response.status == .ok else { throw response.oauthError(from: url, stage: .introspection) }
        guard isSigned else { return try Introspection(response: response) }
        return try await signedIntrospection(response)
    }

    /// Verifies a response as a JWT (RFC 9701 §5): iss, aud and iat are required, and aud is the client that asked. The
    /// type distinguishes the response from an access token or an ID token.
    private func signedIntrospection(_ response: TransportResponse) async throws -> Introspection {
        let type = "token-introspection+jwt"
        guard response.mediaType == "application/" + type else {
            throw Introspection.refusal(
                "expected content of type application/\(type), found \(response.mediaType?.foundText ?? "none")")
        }
        var expected = ClaimsVerifier(client: client, refusal: Introspection.refusal)
        // RFC 9701 §5: the issuer is that of the server, not of the user's tenant.
        (expected.type, expected.issuerPolicy) = (.required(type), .exact)
        (expected.iat, expected.maximumAge) = (.required, .seconds(300))
        let claims = try await verifier.claims(
            in: String(decoding: response.body, as: UTF8.self), signedBy: client.introspectionAlgorithms, expected)
        return try Introspection(ResponseObject(claims["token_introspection"], refuse: Introspection.refusal))
    }
}
