internal import HTTPTypes
internal import JOSE

/// Asks a provider what a token is worth (RFC 7662): for the servers that tokens are presented to.
///
/// ```swift
/// let answer = try await IntrospectionRequest(of: token, as: client).send(in: environment)
/// guard answer.isActive, answer.scope.contains("orders:read") else { return .forbidden }
/// ```
public struct IntrospectionRequest: Sendable {
    /// Who asks: a client that the provider lets ask, with its authentication (RFC 7662 §2.1).
    public let client: Client
    /// Whether the answer has to be signed (RFC 9701).
    public let isSigned: Bool
    private let form: FormParameters
    private let endpoint: SecureURL

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - token: The token that somebody presented.
    ///   - hint: What kind of token it seems to be, for example `refresh_token`; the provider looks elsewhere too (§2.1).
    ///   - client: Who asks.
    ///   - isSigned: Asks for a signed JWT (RFC 9701), which can be kept as evidence, and takes nothing else.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no introspection endpoint.
    public init(of token: Secret, hint: String? = nil, as client: Client, isSigned: Bool = false) throws {
        endpoint = try client.require(.introspection)
        (self.client, self.isSigned) = (client, isSigned)
        var form = FormParameters()
        form.append("token", token.reveal())
        form.append("token_type_hint", hint)
        self.form = form
    }

    /// Sends the request, and reads the answer strictly. A signed answer is verified with the provider's keys.
    ///
    /// - Throws: ``AuthError`` with the server's own code for an OAuth error, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func send(in environment: Environment) async throws -> Introspection {
        let tokenEndpoint = TokenEndpoint(client: client, environment: environment)
        // RFC 9701 §4.
        let accepted = isSigned ? "application/token-introspection+jwt" : "application/json"
        let answer = try await tokenEndpoint.post(form, to: endpoint, stage: .introspection, accepting: accepted)
        guard answer.response.status == .ok else {
            throw answer.oauthError(from: endpoint, stage: .introspection, hiding: tokenEndpoint.secrets(in: form))
        }
        guard isSigned else { return try Introspection(answer: answer) }
        let verification = IDTokenVerification(client: client, environment: environment)
        return try await SignedIntrospection(answer, environment.now()).verified(by: verification)
    }
}
