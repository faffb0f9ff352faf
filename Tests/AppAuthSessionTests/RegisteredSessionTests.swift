import AppAuthServer
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// A registered client's credentials are part of the session, and are managed from it (RFC 7592).
struct RegisteredSessionTests {
    private func signIn(_ world: World, _ store: TestStore) async throws -> AuthState {
        let client = try await world.registerWithSecret().client(at: world.metadata())
        return try await world.signIn(client, store: store)
    }

    @Test func `the credentials survive a refresh and a restart`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            let registration = try #require(await state.record.client.registration)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let stored = try #require(await store.record)
            let copy = try AuthStateRecord(decoding: stored.encoded(), from: "test")
            #expect(copy == stored && copy.client.registration == registration)
            let restored = try #require(
                try await AuthState(restoring: TestStore(copy), environment: world.environment))
            #expect(await restored.record.client.registration == registration)
            #expect(try await restored.registration().clientID == registration.clientID)
        }
    }

    @Test func `the app's rules for ID tokens hold beside the stored registration`() async throws {
        try await World.run { world in
            let store = TestStore()
            let registered = try await signIn(world, store).record.client
            var client = Client(id: registered.id, provider: registered.provider)
            client.idTokenRules.trustedAudiences = ["project"]
            let restored = try #require(
                try await AuthState(restoring: store, as: client, environment: world.environment))
            let found = await restored.record.client
            #expect(found.idTokenRules == client.idTokenRules && found.registration == registered.registration)
            let registration = try #require(registered.registration)
            #expect(try client.registered(as: registration, keyNamed: nil).idTokenRules == client.idTokenRules)
        }
    }

    /// OpenID Connect Core §3.1.3.7 step 7: only by the algorithm that was registered.
    @Test(
        arguments: [("ES256", .es256, true), ("ES256", .rs256, false), (nil, .es256, true), (nil, .rs256, true)]
            as [(String?, SignatureAlgorithm, Bool)])
    func `an ID token is signed as the client registered`(
        registered: String?, signed: SignatureAlgorithm, isTaken: Bool
    ) async throws {
        try await World.run { world in
            var metadata = World.clientMetadata
            metadata["id_token_signed_response_alg"] = registered.map(JSON.string)
            let client = try await world.register(metadata).client(at: world.metadata())
            world.provider.fault(
                .editIDToken { draft in
                    (draft.header["kid"], draft.signature) = (nil, .key(signed))
                }, at: .token)
            let error = await authError { try await world.signIn(client, store: TestStore()) }
            #expect(error?.code == (isTaken ? nil : .invalidIDToken))
            if !isTaken { #expect(error?.message.contains("algorithm of 'ES256', found 'RS256'") == true) }
        }
    }

    @Test(
        arguments: [
            "userinfo_signed_response_alg", "authorization_signed_response_alg", "introspection_signed_response_alg",
        ], [true, false])
    func `other responses are signed with their registered algorithms`(
        member: String, isRegistered: Bool
    ) async throws {
        try await World.run { world in
            var metadata = World.clientMetadata
            metadata.tokenEndpointAuthMethod = "client_secret_basic"
            metadata["userinfo_signed_response_alg"] = "ES256"
            if isRegistered { world.provider.fault(.editDocument { $0[member] = "PS384" }, at: .clientRegistration) }
            let client = try await world.register(metadata).client(at: world.metadata())
            let error = await authError {
                switch member {
                case "userinfo_signed_response_alg": _ = try await world.signIn(client).userInfo()
                case "authorization_signed_response_alg":
                    var options = AuthorizationRequest.Options()
                    options.responseMode = .jwt
                    _ = try await AuthState.exchange(
                        world.authorize(client, options: options), store: MemoryTokenStore(),
                        environment: world.environment)
                default:
                    _ = try await IntrospectionEndpoint(client: client, isSigned: true, environment: world.environment)
                        .introspect(Secret("x"))
                }
            }
            #expect((error == nil) != isRegistered)
            #expect(!isRegistered || error?.message.contains("algorithm of 'PS384', found") == true, "\(error as Any)")
        }
    }

    @Test func `each new registration access token replaces the previous one and is stored`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            let first = try #require(await state.record.client.registration)
            let second = try await state.registration()
            #expect(second.accessToken != first.accessToken && second.clientSecret == first.clientSecret)
            #expect(await store.record?.client.registration == second)
            let third = try await state.updateRegistration { $0.clientName = "Renamed" }
            #expect(third.metadata.clientName == "Renamed")
            #expect(await store.record?.client.registration == third)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await store.record?.client.registration == third)
        }
    }

    @Test func `members that a registration response omits stay unchanged`() async throws {
        try await World.run { world in
            var metadata = World.clientMetadata
            metadata.tokenEndpointAuthMethod = "private_key_jwt"
            metadata.jwks = [try ClientKey(pem: SigningKey.generate(.es256).pem).publicJWK]
            let registration = try await world.register(metadata)
            var client = Client(
                id: registration.clientID,
                authentication: .privateKeyJWT(keyNamed: "key", audience: .endpoint),
                provider: try await world.metadata(), dpop: .es256, bindsTokensToCertificate: true)
            client.registration = registration
            let store = TestStore(try AuthStateRecord(client: client, accessToken: nil, refreshToken: nil))
            let state = try #require(try await AuthState(restoring: store, environment: world.environment))
            client.registration = try await state.updateRegistration { $0.clientName = "Renamed" }
            #expect(await state.record.client == client)
            #expect(await store.record?.client == client)
        }
    }

    // RFC 7592 §2.2: by then the provider has taken back the token before.
    @Test func `a registration with an unusable authentication method is stored anyway`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            let before = await state.record.client
            let jwk = try ClientKey(pem: SigningKey.generate(.es256).pem).publicJWK
            let error = await authError {
                try await state.updateRegistration {
                    ($0.tokenEndpointAuthMethod, $0.jwks) = ("private_key_jwt", [jwk])
                }
            }
            #expect(error?.code == .invalidConfiguration && error?.outcome == .perhapsProcessed)
            let stored = try #require(await store.record?.client)
            #expect(stored.registration?.metadata.tokenEndpointAuthMethod == "private_key_jwt")
            #expect(stored.registration?.accessToken != before.registration?.accessToken)
            #expect(stored.authentication == before.authentication)
            // The stored record works, here and in another process, with the name of the key and without.
            #expect(await authError { try await state.registration() }?.code == .invalidConfiguration)
            let second = try #require(try await AuthState(restoring: store, environment: world.environment))
            _ = try await second.registration(keyNamed: "mine")
            #expect(await store.record?.client.authentication == .privateKeyJWT(keyNamed: "mine"))
            _ = try await second.updateRegistration { $0.tokenEndpointAuthMethod = "client_secret_basic" }
            #expect(await store.record?.client.authentication.method == "client_secret_basic")
        }
    }

    @Test func `a method that is not known here loses no token`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            world.provider.fault(.editDocument { $0["token_endpoint_auth_method"] = "guess" }, at: .clientConfiguration)
            let error = await authError { try await state.registration() }
            #expect(error?.code == .invalidResponse && error?.message.contains("'guess'") == true)
            let latest = try await state.registration()
            #expect(latest.metadata.tokenEndpointAuthMethod == "client_secret_basic")
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `a client is registered with a key from now on, by the name that the app gives`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            let jwk = try ClientKey(pem: SigningKey.generate(.es256).pem).publicJWK
            try await state.updateRegistration(keyNamed: "mine") {
                ($0.tokenEndpointAuthMethod, $0.jwks) = ("private_key_jwt", [jwk])
            }
            #expect(await store.record?.client.authentication == .privateKeyJWT(keyNamed: "mine"))
            try await state.updateRegistration { $0.clientName = "Renamed" }
            #expect(await state.record.client.authentication == .privateKeyJWT(keyNamed: "mine"))
        }
    }

    @Test func `the latest registration wins, regardless of the clock`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await signIn(world, store)
            let second = try #require(try await AuthState(restoring: store, environment: world.environment))
            _ = try await first.registration()
            world.clock.step(by: -3600)
            let latest = try await second.registration()
            // The first has an older one, by a clock that was ahead.
            _ = try await first.freshAccessToken(forceRefresh: true)
            #expect(await store.record?.client.registration == latest)
            world.clock.step(by: -3600)
            let next = try await first.registration()
            #expect(await store.record?.client.registration == next && next.accessToken != latest.accessToken)
        }
    }

    @Test func `a later registration of another process can name another URL of the keys`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await signIn(world, store)
            var client = await first.record.client
            var document = client.provider.document
            document["jwks_uri"] = .string(world.provider.url(.keys) + "?moved=1")
            client.provider = try ProviderMetadata(document: .object(document))
            let second = try #require(
                try await AuthState(restoring: store, as: client, environment: world.environment))
            _ = try await second.registration()
            _ = try await first.freshAccessToken(forceRefresh: true)
            #expect(world.provider.log(.keys).map { $0.query["moved"] } == [nil, "1"])
        }
    }

    @Test func `a registration that was stored without a count is the first`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await signIn(world, store)
            let record = try #require(await store.record)
            let text = String(decoding: try record.encoded(), as: UTF8.self)
            let uncounted = text.replacing(#","revision":0"#, with: "")
            #expect(uncounted != text)
            #expect(try AuthStateRecord(decoding: Array(uncounted.utf8), from: "test") == record)
            let wrong = text.replacing(#""revision":0"#, with: #""revision":"0""#)
            #expect(refusal { try AuthStateRecord(decoding: Array(wrong.utf8), from: "test") }?.code == .store)
        }
    }

    @Test func `another process continues from the first one's record`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await signIn(world, store)
            let second = try #require(try await AuthState(restoring: store, environment: world.environment))
            let known = try await first.registration()
            // It knows an older token, which is no longer valid.
            let latest = try await second.registration()
            #expect(latest.accessToken != known.accessToken)
            // And a refresh by the first does not put its older one back.
            _ = try await first.freshAccessToken(forceRefresh: true)
            #expect(await store.record?.client.registration == latest)
            #expect(await first.record.client.registration == latest)
        }
    }

    @Test func `a new secret is used from then on`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration?.secretLifetime = 7200
        try await World.run(configuration) { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            world.clock.advance(by: 7201)
            #expect(await authError { try await state.freshAccessToken() }?.code == .invalidClient)
            let registration = try await state.registration()
            _ = try await state.freshAccessToken()
            let restored = try #require(try await AuthState(restoring: store, environment: world.environment))
            #expect(await restored.record.client.authentication.secret == registration.clientSecret)
        }
    }

    @Test func `a registration that the store rejected is kept in memory and stored with the next change`() async throws
    {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            let hold = world.provider.hold(.clientConfiguration)
            let reading = Task { await authError { try await state.registration() } }
            try await world.provider.requests(1, at: .clientConfiguration)
            await store.refuse(with: TestStore.Refusal())
            hold.release()
            #expect(await reading.value?.code == .store)
            await store.refuse(with: nil)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let known = try #require(await state.record.client.registration)
            #expect(await store.record?.client.registration == known)
            _ = try await state.registration()
        }
    }

    /// RFC 7592 §2.3 has 204.
    @Test(arguments: [HTTPResponse.Status.noContent, .ok])
    func `a deleted client's session is over`(status: HTTPResponse.Status) async throws {
        try await World.run { world in
            world.provider.fault(.editReply { $0.status = status }, at: .clientConfiguration)
            let store = TestStore()
            let state = try await signIn(world, store)
            let registration = try #require(await state.record.client.registration)
            try await state.deleteRegistration()
            #expect(await store.record == nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(await authError { try await registration.read(in: world.environment) }?.code == "invalid_token")
        }
    }

    @Test func `a client that is not deleted keeps its session`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await signIn(world, store)
            world.provider.fault(.editReply { $0.status = .accepted }, at: .clientConfiguration)
            let error = await authError { try await state.deleteRegistration() }
            #expect(error?.code == .invalidResponse && error?.message.contains("found 202") == true)
            #expect(await store.record != nil)
        }
    }

    @Test func `neither secret nor token is printed or logged`() async throws {
        try await World.run { world in
            let state = try await signIn(world, TestStore())
            _ = try await state.registration()
            let record = await state.record
            let registration = try #require(record.client.registration)
            var texts = world.log.lines + ["\(record)", "\(registration)", String(reflecting: registration)]
            var dumped = ""
            dump(record, to: &dumped)
            texts.append(dumped)
            for secret in [registration.clientSecret, registration.accessToken] {
                let secret = try #require(secret?.reveal())
                #expect(texts.allSatisfy { !$0.contains(secret) })
            }
        }
    }
}
