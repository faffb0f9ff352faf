import AppAuthLegacy
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// The password grant at a server without OpenID Connect: its response has a refresh token without a scope.
struct PasswordRefreshTests {
    @Test func `the plain password grant sends no scope, and its session refreshes`() async throws {
        try await withStage(
            Dialect(),
            { options in
                var configuration = FFSAuthenticator.Configuration()
                configuration.options = options
                return try await FFSAuthenticator.start(configuration)
            }
        ) { stage in
            let secret = try #require(stage.double.demo["client_secret"]?.string)
            let client = Client(
                id: "ffs-demo", authentication: .clientSecretBasic(Secret(secret)),
                provider: try ProviderMetadata(tokenEndpoint: stage.double.baseURL + "/token"))
            let state = try await AuthState.present(
                .resourceOwnerPassword(username: "alice", password: Secret("looking-glass")), as: client,
                store: MemoryTokenStore(), environment: stage.environment)
            let sent = FormParameters(decoding: stage.body(0, at: .token))
            #expect(sent?.items.map(\.name).sorted() == ["grant_type", "password", "username"])
            #expect(await state.record.hasRefreshToken)
            let first = try await state.freshAccessToken().value
            stage.clock.advance(3600)
            #expect(try await state.freshAccessToken().value != first)
            #expect(stage.body(1, at: .token).hasPrefix("grant_type=refresh_token&"))
        }
    }
}
