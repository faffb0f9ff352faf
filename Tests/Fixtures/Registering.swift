package import AppAuthProtocol
internal import JOSE
internal import AppAuthTestProvider

extension World {
    /// The metadata of a native app.
    package static let clientMetadata = ClientMetadata(nativeAppWith: ["http://127.0.0.1/callback"], name: "My App")

    package func register(
        _ metadata: ClientMetadata = clientMetadata, token: String? = nil
    ) async throws -> ClientRegistration {
        let request = try ClientRegistrationRequest(
            provider: try await self.metadata(), metadata: metadata, initialAccessToken: token.map { Secret($0) })
        return try await request.send(in: environment)
    }

    /// The same with a secret.
    package func registerWithSecret() async throws -> ClientRegistration {
        var metadata = Self.clientMetadata
        metadata.tokenEndpointAuthMethod = "client_secret_basic"
        return try await register(metadata)
    }
}
