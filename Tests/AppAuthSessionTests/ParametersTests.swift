import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// Tokens for fewer scopes (RFC 6749 §6) and for certain resources (RFC 8707) are never handed out for one another.
struct ParametersTests {
    @Test func `a malformed scope is refused before anything is sent (RFC 6749 §3.3)`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let error = await authError {
                try await state.freshAccessToken(parameters: TokenParameters(scope: ["openid email"]))
            }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .notSent)
            #expect(world.provider.count(.token) == 1)
            _ = try await state.freshAccessToken(parameters: TokenParameters(scope: ["openid"]))
        }
    }

    @Test func `each set of parameters has a token of its own`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let session = try await state.freshAccessToken()
            let narrow = TokenParameters(scope: [.openID])
            let token = try await state.freshAccessToken(parameters: narrow)
            #expect(token.value != session.value)
            #expect(world.provider.log(.token).last?.form["scope"] == "openid")
            #expect(try await state.freshAccessToken(parameters: narrow) == token)
            #expect(try await state.freshAccessToken() == session)
            #expect(world.provider.count(.token) == 2)
            // The session keeps its scope, and the rotated refresh token.
            #expect(await state.record.scope == [.openID, .profile, .offlineAccess])
            let again = try #require(await AuthState(restoring: store, environment: world.environment))
            #expect(try await again.freshAccessToken(parameters: narrow) == token)
            _ = try await again.freshAccessToken(forceRefresh: true)
            #expect(world.provider.log(.token).last?.form["scope"] == nil)
            #expect(world.provider.count(.token) == 3)
        }
    }

    /// Its tokens have another audience.
    @Test(arguments: [("https://api.example/a", true), ("https://api.example/b", false)])
    func `a session goes on after a later sign-in only if that is for the same resources`(later: String, goesOn: Bool)
        async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.resources = ["https://api.example/a", "https://api.example/b"]
        try await World.run(configuration) { world in
            let store = TestStore()
            func signIn(for resource: String) async throws -> AuthState {
                var options = AuthorizationRequest.Options()
                options.resources = [resource]
                let response = try await world.authorize(world.client(), options: options)
                return try await AuthState.exchange(response, store: store, environment: world.environment)
            }
            let first = try await signIn(for: "https://api.example/a")
            _ = try await signIn(for: later)
            let error = await authError { try await first.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == (goesOn ? nil : "session_replaced"))
        }
    }

    // RFC 8707 §2.1, §2.2.
    @Test func `a resource is sent in the authorization request, with the code, and in a refresh for it`() async throws
    {
        var configuration = LocalProvider.Configuration.demo
        configuration.resources = ["https://api.example/a", "https://api.example/b"]
        try await World.run(configuration) { world in
            var options = AuthorizationRequest.Options()
            options.resources = ["https://api.example/a", "https://api.example/b"]
            let response = try await world.authorize(world.client(), options: options)
            let state = try await AuthState.exchange(response, store: TestStore(), environment: world.environment)
            _ = try await state.freshAccessToken(parameters: TokenParameters(resources: ["https://api.example/b"]))
            // The stored session knows them too.
            let restored = try await AuthStateRecord(decoding: state.record.encoded(), from: "a test")
            #expect(restored.resources == options.resources)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let both = ["https://api.example/a", "https://api.example/b"]
            #expect(world.provider.log(.authorization).first?.query.values("resource") == both)
            #expect(world.provider.log(.token).map { $0.form.values("resource") } == [both, [both[1]], []])
        }
    }

    @Test func `callers with different parameters at the same time make a request each, one after the other`()
        async throws
    {
        try await World.run { world in
            let state = try await world.signIn()
            let sets = [
                TokenParameters.session, .init(scope: [.openID]), .init(scope: [.openID, .profile]),
                .init(others: ["audience": "https://api.example"]),
            ]
            let callers = (0..<60).map { number in
                Task {
                    (number % 4, try await state.freshAccessToken(forceRefresh: true, parameters: sets[number % 4]))
                }
            }
            var tokens: [Int: Set<AccessToken>] = [:]
            for caller in callers {
                let (set, token) = try await caller.value
                tokens[set, default: []].insert(token)
            }
            #expect(tokens.count == sets.count)
            // None is in two of the sets.
            #expect(Set(tokens.values.joined()).count == tokens.values.map(\.count).reduce(0, +))
            #expect(world.provider.log(.token).contains { $0.form["audience"] == "https://api.example" })
            #expect(await state.record.end == nil)
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    /// Several servers say so where a scope or a resource needs another consent.
    @Test func `invalid_grant for one caller's parameters is reported to that caller and ends nothing`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            let refusal = Fault.status(
                .badRequest, json: ["error": "invalid_grant", "error_description": "no consent"])
            world.provider.fault(refusal, at: .token)
            let narrow = TokenParameters(scope: [.openID])
            let error = try #require(await authError { try await state.freshAccessToken(parameters: narrow) })
            #expect(error.code == .invalidGrant && error.message.contains("no consent"))
            #expect(await state.record == before)
            #expect(await store.record == before)
            #expect(world.provider.log(.token).map { $0.form["scope"] == "openid" } == [false, true])
            // The refresh token is valid: the session's own refresh shows it.
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.refreshToken != before.refreshToken)
        }
    }

    @Test func `after invalid_grant for one caller's parameters, the session's own refresh detects the end`()
        async throws
    {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let refusal = Fault.status(.badRequest, json: ["error": "invalid_grant"])
            world.provider.fault(refusal, at: .token)
            let narrow = TokenParameters(scope: [.openID])
            #expect(await authError { try await state.freshAccessToken(parameters: narrow) }?.code == .invalidGrant)
            #expect(await state.record.end == nil)
            world.provider.fault(refusal, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .signInRequired)
            #expect(await state.record.end != nil)
            #expect(await store.record?.end != nil)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test func `an app that only asks with parameters learns of the end once the session's own token has expired`()
        async throws
    {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token, times: nil)
            let narrow = TokenParameters(scope: [.openID])
            for (wait, isOver) in [(0.0, false), (3600, true), (0, true)] {
                world.clock.advance(by: wait)
                let error = try #require(await authError { try await state.freshAccessToken(parameters: narrow) })
                #expect(error.code == (isOver ? .signInRequired : .invalidGrant) && error.needsSignIn == isOver)
                #expect(await (state.record.end != nil) == isOver)
            }
            // The code, the two with parameters, and the session's own.
            #expect(world.provider.count(.token) == 4)
        }
    }

    @Test func `if the session's own refresh succeeds or fails for a while, the caller's own error stands`()
        async throws
    {
        for fault in [nil, Fault.status(.serviceUnavailable)] {
            try await World.run { world in
                let state = try await world.signIn()
                world.clock.advance(by: 3600)
                world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
                if let fault { world.provider.fault(fault, at: .token) }
                let narrow = TokenParameters(scope: [.openID])
                let error = await authError { try await state.freshAccessToken(parameters: narrow) }
                #expect(error?.code == .invalidGrant && error?.needsSignIn == false)
                #expect(await state.record.end == nil && world.provider.count(.token) == 3)
            }
        }
    }

    @Test(arguments: ["grant_type", "refresh_token", "client_secret", "scope"])
    func `a parameter that the library sets is rejected`(name: String) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let error = await authError {
                try await state.freshAccessToken(parameters: TokenParameters(others: [name: "x"]))
            }
            #expect(error?.code == .invalidConfiguration && error?.message.contains("'\(name)'") == true)
            #expect(world.provider.count(.token) == 1)
        }
    }
}
