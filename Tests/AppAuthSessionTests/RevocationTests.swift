import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 7009.
struct RevocationTests {
    @Test func `the refresh token is revoked first, then the access token, each with its hint`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let record = await state.record
            let revocations = await state.revokeTokens()
            #expect(revocations.map(\.tokenTypeHint) == ["refresh_token", "access_token"])
            #expect(revocations.allSatisfy { $0.error == nil })
            let sent = world.provider.log(.revocation)
            #expect(sent.map { $0.form["token_type_hint"] } == ["refresh_token", "access_token"])
            #expect(
                sent.map { $0.form["token"] } == [record.refreshToken?.reveal(), record.accessToken?.value.reveal()])
            #expect(
                sent.allSatisfy { $0.form.names == ["token", "token_type_hint", "client_id"] && $0.method == .post })
            for token in sent.compactMap({ $0.form["token"] }) { #expect(!world.provider.isAlive(token)) }
            #expect(await state.record == record)
            #expect(world.provider.count(.oauthMetadata) == 0)
        }
    }

    // RFC 7009 §2.1
    @Test func `access tokens for other scopes are revoked too, all at the same time`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let other = try await state.freshAccessToken(parameters: TokenParameters(scope: [.openID]))
            let record = await state.record
            let first = world.provider.hold(.revocation)
            async let revoking = state.revokeTokens()
            try await first.arrived()
            let others = world.provider.hold(.revocation)
            first.release()
            try await waitUntil { others.count == 2 }
            others.release()
            let revocations = await revoking
            #expect(revocations.map(\.tokenTypeHint) == ["refresh_token", "access_token", "access_token"])
            #expect(revocations.allSatisfy { $0.error == nil })
            let sent = world.provider.log(.revocation).compactMap { $0.form["token"] }
            let tokens = [record.refreshToken, record.accessToken?.value, other.value].compactMap { $0?.reveal() }
            #expect(sent.first == tokens.first && Set(sent) == Set(tokens) && sent.count == 3)
        }
    }

    @Test func `a client with a secret authenticates as at the token endpoint (RFC 7009 §2.1)`() async throws {
        try await World.run { world in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            let client = try await world.client("demo-confidential", .clientSecretBasic(Secret(secret)))
            let state = try await world.signIn(client)
            #expect(await state.revokeTokens().allSatisfy { $0.error == nil })
            #expect(
                world.provider.log(.revocation).allSatisfy { $0.headers[.authorization]?.hasPrefix("Basic ") == true })
        }
    }

    @Test func `an endpoint that only the RFC 8414 document lists is found`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.namesRevocationInOAuthMetadataOnly = true
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            #expect(await state.revokeTokens().map(\.error) == [nil, nil])
            #expect(world.provider.count(.oauthMetadata) == 1)
            #expect(world.provider.count(.revocation) == 2)
        }
    }

    @Test func `an endpoint that cannot be looked up is reported for each token`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.namesRevocationInOAuthMetadataOnly = true
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            world.provider.fault(.unavailable(retryAfter: 1), at: .oauthMetadata, times: nil)
            let revocations = try await state.signOut()
            #expect(revocations.map(\.tokenTypeHint) == ["refresh_token", "access_token"])
            #expect(revocations.allSatisfy { $0.error?.stage == .discovery })
            #expect(world.provider.count(.revocation) == 0)
            #expect(await !state.isAuthorized)
        }
    }

    @Test func `without an endpoint nothing is revoked`() async throws {
        try await World.run { world in
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                world.provider.fault(.editDocument { $0["revocation_endpoint"] = nil }, at: location)
            }
            let state = try await world.signIn()
            #expect(await state.revokeTokens().isEmpty)
            #expect(world.provider.count(.revocation) == 0)
        }
    }

    @Test(arguments: [
        (Fault.unavailable(retryAfter: 4), AuthError.Code.invalidResponse), (.reset(), .transport),
        (.status(.badRequest, json: ["error": "unsupported_token_type"]), "unsupported_token_type"),
        (.status(.unauthorized, json: ["error": "invalid_client"]), .invalidClient),
        (.redirect(to: "https://evil.example/"), .invalidResponse),
    ])
    func `a failure is reported, and the other token is still revoked`(
        fault: Fault, code: AuthError.Code
    ) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(fault, at: .revocation)
            let revocations = await state.revokeTokens()
            #expect(revocations.map { $0.error?.code } == [code, nil])
            #expect(revocations.first?.error?.stage == .revocation)
            #expect(world.provider.count(.revocation) == 2)
        }
    }

    @Test func `a token that the server does not know counts as revoked (RFC 7009 §2.2)`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.revokeGrant(of: try #require(await state.record.refreshToken).reveal())
            #expect(await state.revokeTokens().map(\.error) == [nil, nil])
        }
    }

    @Test func `an error that repeats the token does not show it`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let token = try #require(await state.record.refreshToken).reveal()
            let body: JSON = ["error": "invalid_token", "error_description": .string("unknown: \(token)")]
            world.provider.fault(.status(.badRequest, json: body), at: .revocation)
            let error = try #require(await state.revokeTokens().first?.error)
            #expect(error.server?.errorDescription == "unknown: [redacted]")
        }
    }

    @Test(arguments: [true, false])
    func `a sign-out revokes the tokens if it shall, and removes the session`(isRevoking: Bool) async throws {
        try await World.run { world in
            let store = MemoryTokenStore()
            let state = try await world.signIn(store: store)
            let revocations = try await state.signOut(revokingTokens: isRevoking)
            #expect(revocations.map(\.error) == (isRevoking ? [nil, nil] : []))
            #expect(world.provider.count(.revocation) == (isRevoking ? 2 : 0))
            #expect(await !state.isAuthorized)
            #expect(try await store.load() == nil)
        }
    }

    @Test func `a session without tokens has nothing to revoke`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            try await state.forget()
            #expect(await state.revokeTokens().isEmpty)
            #expect(world.provider.count(.revocation) == 0)
        }
    }
}
