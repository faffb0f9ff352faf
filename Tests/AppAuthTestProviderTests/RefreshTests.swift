import JOSE
import AppAuthTestProvider
import Testing

@Suite struct RefreshTests {
    /// RFC 9700 §4.14.2.
    @Test func `a rotated refresh token that comes again ends the family`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let first = try #require(try provider.mintSession().refreshToken)
            let response = try #require(try await flow.refresh(first).json)
            let second = try #require(response["refresh_token"]?.string)
            let access = try #require(response["access_token"]?.string)
            #expect(provider.isAlive(second))
            #expect(try await flow.refresh(first).json?["error"]?.string == "invalid_grant")
            #expect(try await flow.refresh(second).json?["error"]?.string == "invalid_grant")
            #expect(try await flow.bearer(.userInfo, access).status == 401)
        }
    }

    @Test func `within the grace period an old refresh token is valid, afterwards it ends the family`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(
            .demo {
                $0.clock = clock.read
                $0.refreshTokenGracePeriod = 10
            }
        ) { provider in
            let flow = Flow(provider: provider)
            let first = try #require(try provider.mintSession().refreshToken)
            let second = try #require(try await flow.refresh(first).json?["refresh_token"]?.string)
            clock.advance(9)
            let third = try #require(try await flow.refresh(first).json?["refresh_token"]?.string)
            #expect(provider.isAlive(second) && provider.isAlive(third))
            clock.advance(1)
            #expect(try await flow.refresh(first).json?["error"]?.string == "invalid_grant")
            #expect(!provider.isAlive(second) && !provider.isAlive(third))
        }
    }

    @Test func `grace periods can be ended at once`() async throws {
        try await withLocalProvider(.demo { $0.refreshTokenGracePeriod = 3600 }) { provider in
            let flow = Flow(provider: provider)
            let first = try #require(try provider.mintSession().refreshToken)
            let second = try #require(try await flow.refresh(first).json?["refresh_token"]?.string)
            provider.endGracePeriods()
            let third = try #require(try await flow.refresh(second).json?["refresh_token"]?.string)
            #expect(try await flow.refresh(second).status == 200)
            #expect(try await flow.refresh(first).json?["error"]?.string == "invalid_grant")
            #expect(!provider.isAlive(third))
        }
    }

    @Test func `without rotation the refresh token stays`() async throws {
        try await withLocalProvider(.demo { $0.rotatesRefreshTokens = false }) { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            for _ in 0..<3 {
                let response = try await flow.refresh(token)
                #expect(response.status == 200)
                #expect(response.json?["refresh_token"] == nil)
            }
        }
    }

    @Test func `a refresh token expires after its last use`() async throws {
        let clock = ManualClock()
        try await withLocalProvider(
            .demo {
                $0.clock = clock.read
                $0.refreshTokenLifetime = 100
            }
        ) { provider in
            let flow = Flow(provider: provider)
            var token = try #require(try provider.mintSession().refreshToken)
            clock.advance(99)
            token = try #require(try await flow.refresh(token).json?["refresh_token"]?.string)
            clock.advance(99)
            #expect(provider.isAlive(token))
            clock.advance(1)
            #expect(try await flow.refresh(token).json?["error"]?.string == "invalid_grant")
        }
    }

    @Test func `a refresh token belongs to its client`() async throws {
        try await withLocalProvider(.demo { $0.clients.append(RegisteredClient(id: "other")) }) { provider in
            let token = try #require(try provider.mintSession().refreshToken)
            let other = try await Flow(provider: provider, clientID: "other").refresh(token)
            #expect(other.json?["error"]?.string == "invalid_grant")
            #expect(try await Flow(provider: provider).refresh(token).status == 200)
        }
    }

    /// RFC 6749 §6.
    @Test func `the scope may shrink and not grow, and a wish for more costs nothing`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            let more = try await flow.refresh(token, [("scope", "openid phone")])
            #expect(more.json?["error"]?.string == "invalid_scope")
            let less = try await flow.refresh(token, [("scope", "openid")])
            #expect(less.json?["scope"]?.string == "openid")
            let access = try #require(less.json?["access_token"]?.string)
            #expect(try await flow.bearer(.userInfo, access).json?["email"] == nil)
            // The grant is as it was.
            let again = try await flow.refresh(#require(less.json?["refresh_token"]?.string))
            #expect(again.json?["scope"]?.string == "openid profile email offline_access")
        }
    }

    @Test func `the ID token at a refresh can be left out`() async throws {
        try await withLocalProvider(.demo { $0.sendsIDTokenOnRefresh = false }) { provider in
            let response = try await Flow(provider: provider).refresh(#require(try provider.mintSession().refreshToken))
            #expect(response.status == 200)
            #expect(response.json?["id_token"] == nil)
        }
    }

    @Test func `of many refreshes with one token at once one wins, and the family is over`() async throws {
        try await withLocalProvider { provider in
            let flow = Flow(provider: provider)
            let token = try #require(try provider.mintSession().refreshToken)
            let statuses = try await withThrowingTaskGroup(of: Int?.self) { group in
                for _ in 0..<8 { group.addTask { try await flow.refresh(token).status } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 == 200 }.count == 1)
            #expect(statuses.filter { $0 == 400 }.count == 7)
        }
    }
}
