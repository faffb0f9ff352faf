internal import AppAuthProtocol
internal import AppAuthSession
internal import FoundationEssentials

/// Made-up sessions to store.
enum Sample {
    /// - Parameter name: The client id, which tells the sessions apart.
    static func record(_ name: String = "client", refreshToken: String = "refresh-token") throws -> AuthStateRecord {
        let provider = try ProviderMetadata(
            issuer: "https://op.example", endpoints: [.token: "https://op.example/token"])
        return try AuthStateRecord(
            client: Client(id: name, provider: provider), scope: [.openID],
            accessToken: AccessToken(
                value: Secret("access-token"), received: Timestamp(wall: .init(timeIntervalSince1970: 1_700_000_000)),
                lifetime: .seconds(3600)),
            refreshToken: Secret(refreshToken))
    }
}

extension AuthStateRecord {
    /// Returns the same session with another client id.
    func named(_ name: String) -> AuthStateRecord {
        var copy = self
        copy.client = Client(id: name, authentication: client.authentication, provider: client.provider)
        return copy
    }

    mutating func rename(_ name: String) { self = named(name) }
}

extension TokenStore {
    func put(_ record: AuthStateRecord?) async throws { try await update { $0 = record } }
}
