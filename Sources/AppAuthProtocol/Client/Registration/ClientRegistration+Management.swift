internal import HTTPTypes
internal import JOSE

/// Management of a registered client at its configuration endpoint (RFC 7592), with the registration access token.
///
/// Each response may bring another token: replace the registration by the returned one. A session does that by itself:
/// see ``AuthState/registration(keyNamed:)``.
extension ClientRegistration {
    /// Reads the current registration from the provider (RFC 7592 §2.1).
    ///
    /// - Throws: ``AuthError`` with ``AuthError/Code/invalidConfiguration`` if the provider gave no registration access
    ///   token; `invalid_token` or another code of the server's, ``AuthError/Code/invalidResponse``,
    ///   ``AuthError/Code/transport``, ``AuthError/Code/timeout``; `CancellationError`.
    public func read(in environment: Environment) async throws -> ClientRegistration {
        try await response(.get, nil, environment)
    }

    /// Changes the metadata (RFC 7592 §2.2).
    ///
    /// The request holds all registered metadata with the change, because the provider deletes missing members.
    ///
    /// - Parameter change: Alters the metadata. A member that it removes is deleted.
    /// - Throws: As ``read(in:)``, and ``AuthError/Code/invalidRedirectURI``, ``AuthError/Code/invalidClientMetadata``;
    ///   what `change` throws.
    public func update(
        in environment: Environment, _ change: @Sendable (inout ClientMetadata) throws -> Void
    ) async throws -> ClientRegistration {
        var metadata = metadata
        try change(&metadata)
        // §2.2: the four members that only the provider issues MUST NOT be sent; the secret need not be.
        var members = metadata.members
        for name in ClientMetadata.credentials { members[name] = nil }
        // §2.2: the client_id MUST be present.
        members["client_id"] = .string(clientID)
        return try await response(.put, members, environment)
    }

    /// Deletes the client at the provider, which also ends its tokens (RFC 7592 §2.3).
    ///
    /// - Throws: As ``read(in:)``.
    public func delete(in environment: Environment) async throws {
        let (response, url) = try await send(.delete, nil, environment)
        // §2.3: 204.
        guard response.isAccepted else { throw error(response, url) }
    }

    private func response(
        _ method: HTTPRequest.Method, _ document: JSON.Object?, _ environment: Environment
    ) async throws -> ClientRegistration {
        let (response, url) = try await send(method, document, environment)
        // §2.1, §2.2: 200.
        guard response.isAccepted else { throw error(response, url) }
        return try ClientRegistration(response, from: url, updating: self)
            .completed(with: metadata.tokenEndpointAuthMethod, of: nil)
    }

    private func send(
        _ method: HTTPRequest.Method, _ document: JSON.Object?, _ environment: Environment
    ) async throws -> (TransportResponse, SecureURL) {
        guard let configurationEndpoint, let accessToken else {
            throw AuthError(
                .invalidConfiguration, .registration,
                "expected a registration with 'registration_access_token' and 'registration_client_uri', "
                    + "found one that cannot be managed")
        }
        let request = TransportRequest.registration(method, configurationEndpoint, document, token: accessToken)
        return (try await environment.send(request, stage: .registration), configurationEndpoint)
    }

    private func error(_ response: TransportResponse, _ url: SecureURL) -> AuthError {
        response.oauthError(from: url, stage: .registration, hiding: [accessToken, clientSecret].compactMap(\.self))
    }
}
