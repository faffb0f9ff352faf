import AppAuth
import AppAuthTestProvider
import ScriptedBrowser
import Testing

/// An app's own tests, against a provider on this machine that fails on request.
@Suite(.timeLimit(.minutes(1))) struct StayingSignedInTests {
    /// Signs alice in as the client `demo`, as she does in a browser.
    private func signIn(_ provider: LocalProvider) async throws -> AuthState {
        try await withScriptedBrowser(entries: ["username": "alice", "password": "looking-glass"]) { browser in
            var signIn = try SignIn(issuer: Issuer(provider.issuer), clientID: "demo", appName: "My App")
            signIn.browser = browser
            return try await signIn.run(store: MemoryTokenStore())
        }
    }

    @Test func `a session that the provider has ended needs a new sign-in`() async throws {
        try await withLocalProvider { provider in
            let state = try await signIn(provider)
            provider.fault(.oauthError("invalid_grant"), at: .token)
            let error = await #expect(throws: AuthError.self) { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .signInRequired)
        }
    }

    @Test func `a server that is down ends no session`() async throws {
        try await withLocalProvider { provider in
            let state = try await signIn(provider)
            provider.fault(.unavailable(retryAfter: 1), at: .token)
            let error = await #expect(throws: AuthError.self) { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.isTemporary == true)
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `a caller with a good token does not wait for a slow refresh`() async throws {
        try await withLocalProvider { provider in
            let state = try await signIn(provider)
            let old = try await state.freshAccessToken()
            let hold = provider.hold(.token)
            async let new = state.freshAccessToken(forceRefresh: true)
            try await hold.arrived()
            #expect(try await state.freshAccessToken() == old)
            hold.release()
            #expect(try await new != old)
            #expect(provider.log(.token).map { $0.form["grant_type"] } == ["authorization_code", "refresh_token"])
        }
    }

    /// The provider replaces the refresh token at each refresh, and ends the session if an old one is used again.
    @Test(arguments: [0, 60])
    func `a lost response costs the session unless the provider has a grace period`(seconds: Int) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.refreshTokenGracePeriod = seconds
        try await withLocalProvider(configuration) { provider in
            let state = try await signIn(provider)
            provider.fault(.lostResponse, at: .token)
            await #expect(throws: AuthError.self) { try await state.freshAccessToken(forceRefresh: true) }
            let second = try? await state.freshAccessToken(forceRefresh: true)
            #expect((second != nil) == (seconds > 0))
        }
    }
}
