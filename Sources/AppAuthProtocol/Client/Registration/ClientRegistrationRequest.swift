internal import HTTPTypes
internal import JOSE

/// A request that registers a client at a provider (RFC 7591 §3.1, OpenID Connect Registration §3.1).
///
/// ```swift
/// let metadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "My App")
/// let registration = try await ClientRegistrationRequest(provider: provider, metadata: metadata).send(in: .live)
/// ```
public struct ClientRegistrationRequest: Sendable {
    /// The provider's registration endpoint.
    public let endpoint: SecureURL
    /// The requested metadata.
    public let metadata: ClientMetadata
    /// The methods that the provider lists.
    private let methods: [String]?
    private let softwareStatement: Secret?
    private let initialAccessToken: Secret?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - provider: A provider with a registration endpoint.
    ///   - metadata: The client's description of itself.
    ///   - softwareStatement: A signed JWT about the software by an issuer that the provider trusts (RFC 7591 §2.3).
    ///   - initialAccessToken: The token that allows the registration, if the provider requires one (RFC 7591 §3).
    ///   - confirmed: The user's agreement to what ``AuthError/confirmation`` asks.
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidMetadata`` if the provider has no registration endpoint,
    ///   ``AuthError/Code/confirmationRequired`` if a resource named the issuer and its endpoint is on another origin,
    ///   ``AuthError/Code/invalidConfiguration`` if the metadata contains a client ID, a secret or another credential,
    ///   keys both by value and by reference, or a software statement, which has its own parameter.
    public init(
        provider: ProviderMetadata, metadata: ClientMetadata, softwareStatement: Secret? = nil,
        initialAccessToken: Secret? = nil, confirmed: SignInConfirmation? = nil
    ) throws {
        endpoint = try provider.require(.registration)
        // RFC 9700 §4.4: the redirect URI of a hostile issuer would be registered at an honest provider.
        _ = try provider.confirmed(confirmed, for: [endpoint])
        if let name = metadata.members.names.first(where: ClientMetadata.credentials.contains) {
            throw Self.refusal("the provider assigns \(name.foundText). Remove it from the metadata")
        }
        // RFC 7591 §2: they MUST NOT both be present.
        guard metadata["jwks"] == nil || metadata["jwks_uri"] == nil else {
            throw Self.refusal("expected either 'jwks' or 'jwks_uri', found both")
        }
        guard metadata["software_statement"] == nil else {
            throw Self.refusal("expected 'software_statement' as a parameter of the request, found it in the metadata")
        }
        (self.metadata, self.softwareStatement) = (metadata, softwareStatement)
        methods = provider.tokenEndpointAuthMethods
        self.initialAccessToken = initialAccessToken
    }

    /// Sends the request.
    ///
    /// Sends one POST and never repeats it: each request that arrives registers a client. A response with a client ID
    /// is always a registration, even if other members are malformed, so that no client is lost. Store it, then create
    /// a client with ``ClientRegistration/client(at:keyNamed:)``, which throws if the client cannot authenticate.
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidRedirectURI``, ``AuthError/Code/invalidClientMetadata``,
    ///   ``AuthError/Code/invalidSoftwareStatement``, ``AuthError/Code/unapprovedSoftwareStatement`` or another code of
    ///   the server's, ``AuthError/Code/invalidResponse``, ``AuthError/Code/transport``, ``AuthError/Code/timeout``;
    ///   `CancellationError`.
    public func send(in environment: Environment) async throws -> ClientRegistration {
        var members = metadata.members
        members["software_statement"] = softwareStatement.map { .string($0.reveal()) }
        let request = TransportRequest.registration(.post, endpoint, members, token: initialAccessToken)
        let response = try await environment.send(request, stage: .registration)
        guard response.isAccepted else {
            let secrets = [softwareStatement, initialAccessToken].compactMap(\.self)
            throw response.oauthError(from: endpoint, stage: .registration, hiding: secrets, expected: .created)
        }
        return try ClientRegistration(response, from: endpoint, updating: nil).keepingLogoutURIs(of: metadata)
            .completed(with: metadata.tokenEndpointAuthMethod, of: methods)
    }

    private static func refusal(_ message: String) -> AuthError {
        AuthError(.invalidConfiguration, .registration, message)
    }
}

extension TransportRequest {
    /// Creates a request with a JSON body and the token that authorizes it (RFC 7591 §3, RFC 7592 §2).
    static func registration(
        _ method: HTTPRequest.Method, _ url: SecureURL, _ document: JSON.Object? = nil, token: Secret?
    ) -> TransportRequest {
        var request = HTTPRequest(method: method, url: url)
        request.headerFields[.accept] = "application/json"
        request.headerFields[.authorization] = token.map { "Bearer \($0.reveal())" }
        if document != nil { request.headerFields[.contentType] = "application/json" }
        var registration = TransportRequest(request, body: document.map { Array(JSON.object($0).serialized().utf8) })
        registration.usesUpItsToken = token != nil
        return registration
    }
}
