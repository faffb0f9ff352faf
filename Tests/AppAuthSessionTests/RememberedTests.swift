import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import ScriptedBrowser
import TestFixtures
import Testing

/// What a session remembers of its responses, for other processes and later starts.
struct RememberedTests {
    /// The session as another process reads it.
    private func restored(_ store: TestStore, _ world: World) async throws -> AuthState {
        let bytes = try #require(await store.record).encoded()
        await store.put(try AuthStateRecord(decoding: bytes, from: "another process"))
        return try #require(await AuthState(restoring: store, environment: world.environment))
    }

    private func refusal(_ code: String, _ description: String) -> Fault {
        .status(.badRequest, json: ["error": .string(code), "error_description": .string(description)])
    }

    @Test func `a server that wants the scopes in a refresh is asked so the next time, from the first request on`()
        async throws
    {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.provider.fault(refusal("invalid_scope", "a scope is required"), at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let scopes = world.provider.log(.token).dropFirst().map { $0.form["scope"] }
            #expect(scopes == [nil, "openid profile offline_access"])
            _ = try await restored(store, world).freshAccessToken(forceRefresh: true)
            #expect(
                world.provider.log(.token).dropFirst(3).map { $0.form["scope"] } == ["openid profile offline_access"])
        }
    }

    @Test func `a server that refuses the resource in a refresh is asked without it the next time`() async throws {
        let resource = "https://api.example/v1"
        var configuration = LocalProvider.Configuration.demo
        configuration.resources = [resource]
        try await World.run(configuration) { world in
            let store = TestStore()
            var options = AuthorizationRequest.Options()
            options.resources = [resource]
            var client = try await world.client()
            // As if the resource had named it.
            client.provider.servesResource = true
            let response = try await world.authorize(client, options: options)
            let state = try await AuthState.exchange(response, store: store, environment: world.environment)
            func named() -> [String?] { world.provider.log(.token).dropFirst().map { $0.form["resource"] } }
            _ = try await state.freshAccessToken(forceRefresh: true)
            world.provider.fault(refusal("invalid_target", "no resource here"), at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            _ = try await restored(store, world).freshAccessToken(forceRefresh: true)
            #expect(named() == [resource, resource, nil, nil])
        }
    }

    @Test func `scopes that were not granted are remembered as requested`() async throws {
        try await World.run { world in
            let store = TestStore()
            world.provider.fault(.editDocument { $0["scope"] = "openid offline_access" }, at: .token)
            _ = try await world.signIn(store: store)
            let record = try await restored(store, world).record
            #expect(record.scope == [.openID, .offlineAccess] && record.requestedScope.count == 3)
            #expect(Set(record.requestedScope) == [.openID, .offlineAccess, .profile])
        }
    }

    @Test func `details of the authorization are those of the latest response that has some`() async throws {
        try await World.run { world in
            let store = TestStore()
            for type in ["first", "second"] {
                world.provider.fault(
                    .editDocument { $0["authorization_details"] = [["type": .string(type)]] }, at: .token)
                if type == "first" {
                    _ = try await world.signIn(store: store)
                } else {
                    _ = try await restored(store, world).freshAccessToken(forceRefresh: true)
                }
                let details = try await restored(store, world).record.authorizationDetails
                #expect(details.map(\.type) == [type])
            }
            _ = try await restored(store, world).freshAccessToken(forceRefresh: true)
            #expect(try await restored(store, world).record.authorizationDetails.count == 1)
        }
    }

    @Test func `the tokens of the last sixteen sets of parameters are kept`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            func token(_ number: Int) async throws -> Secret {
                let parameters = TokenParameters(scope: [.openID], others: ["n": "\(number)"])
                return try await state.freshAccessToken(parameters: parameters).value
            }
            var first: [Secret] = []
            for number in 0..<17 {
                first.append(try await token(number))
                world.clock.advance(by: 1)
            }
            #expect(world.provider.count(.token) == 18)
            for number in 1..<17 { #expect(try await token(number) == first[number]) }
            #expect(world.provider.count(.token) == 18)
            // The oldest one has made room.
            #expect(try await token(0) != first[0])
        }
    }

    @Test func `a session of a device remembers its resources`() async throws {
        let resource = "https://api.example/v1"
        var configuration = LocalProvider.Configuration.demo
        configuration.resources = [resource]
        try await World.run(configuration) { world in
            var environment = world.environment
            environment.sleep = { _ in }
            let authorization = try await DeviceAuthorizationRequest(client: world.client(), resources: [resource])
                .send(in: environment)
            _ = try await world.browser.visit(#require(authorization.verificationURIComplete?.string))
            let state = try await AuthState.awaitApproval(
                of: authorization, store: MemoryTokenStore(), environment: environment)
            #expect(await state.record.resources == [resource])
        }
    }
}
