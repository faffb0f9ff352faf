import JOSE
import AppAuthTestProvider
import Testing

/// RFC 7009 and RFC 7662.
@Suite struct RevocationTests {
    private func revoke(
        _ provider: LocalProvider, _ token: String?, client: String = "demo", hint: String? = nil
    ) async throws -> Wire.Response {
        let form = [("token", token), ("token_type_hint", hint)].compactMap { name, value in value.map { (name, $0) } }
        return try await Wire.post(provider.url(.revocation), form + [("client_id", client)])
    }

    private func introspect(
        _ provider: LocalProvider, _ token: String, _ client: [(name: String, value: String)]? = nil
    ) async throws -> Wire.Response {
        let service = [("client_id", "demo-service"), ("client_secret", "service-secret-of-thirty-two-bytes")]
        return try await Wire.post(provider.url(.introspection), [("token", token)] + (client ?? service))
    }

    @Test(arguments: [nil, "refresh_token", "access_token", "nonsense"])
    func `revoking a refresh token ends the family`(hint: String?) async throws {
        try await withLocalProvider { provider in
            let session = try provider.mintSession()
            let other = try provider.mintSession()
            let response = try await revoke(provider, session.refreshToken, hint: hint)
            #expect(response.status == 200)
            #expect(!provider.isAlive(session.accessToken))
            #expect(!provider.isAlive(try #require(session.refreshToken)))
            #expect(provider.isAlive(other.accessToken))
        }
    }

    @Test func `revoking an access token leaves the refresh token`() async throws {
        try await withLocalProvider { provider in
            let session = try provider.mintSession()
            #expect(try await revoke(provider, session.accessToken).status == 200)
            #expect(!provider.isAlive(session.accessToken))
            #expect(provider.isAlive(try #require(session.refreshToken)))
        }
    }

    @Test func `an unknown token counts as revoked, another client's is not touched`() async throws {
        try await withLocalProvider { provider in
            #expect(try await revoke(provider, "never-was").status == 200)
            #expect(try await revoke(provider, nil).json?["error"]?.string == "invalid_request")
            let foreign = try provider.mintSession(client: "demo-confidential")
            #expect(try await revoke(provider, foreign.refreshToken).json?["error"]?.string == "invalid_grant")
            #expect(provider.isAlive(foreign.accessToken))
            #expect(
                try await revoke(provider, foreign.refreshToken, client: "demo-confidential").json?["error"]?.string
                    == "invalid_client")
            #expect(provider.isAlive(foreign.accessToken))
        }
    }

    @Test func `introspection describes living tokens to clients with a secret`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(.demo { $0.clock = clock.read }) { provider in
            let session = try provider.mintSession()
            let access = try #require(try await introspect(provider, session.accessToken).json)
            #expect(access["active"]?.bool == true)
            #expect(access["client_id"]?.string == "demo")
            #expect(access["username"]?.string == "alice")
            #expect(access["exp"]?.int == 1_800_003_600)
            let refresh = try #require(session.refreshToken)
            #expect(try await introspect(provider, refresh).json?["active"]?.bool == true)
            _ = try await Flow(provider: provider).refresh(refresh)
            #expect(try await introspect(provider, refresh).json == ["active": false])
            clock.advance(3600)
            #expect(try await introspect(provider, session.accessToken).json == ["active": false])
            #expect(try await introspect(provider, "never-was").json == ["active": false])
            let demo = try await introspect(provider, session.accessToken, [("client_id", "demo")])
            #expect(demo.status == 401)
            #expect(demo.json?["error"]?.string == "invalid_client")
        }
    }
}
