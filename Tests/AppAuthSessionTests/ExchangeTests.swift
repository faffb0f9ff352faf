import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// From a code to a stored session, over the wire (OpenID Connect Core §3.1.3).
struct ExchangeTests {
    // oidcc-client-test
    @Test func `a sign-in is a token request and a key request, and its session is stored`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let record = await state.record
            #expect(record.idToken?.subject == "248289761001")
            #expect(record.idToken?.claims.name == "Alice Liddell")
            #expect(record.scope == [.openID, .profile, .offlineAccess])
            #expect(record.accessToken?.expiresAt == world.clock.now + 3600)
            #expect(record.hasRefreshToken)
            #expect(record.end == nil)
            #expect(await store.record == record)
            #expect(world.provider.count(.openIDConfiguration) == 1)
            #expect(world.provider.count(.token) == 1)
            #expect(world.provider.count(.keys) == 1)
            let token = try await state.freshAccessToken()
            #expect(world.provider.isAlive(token.value.reveal()))
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .ps256, .es256, .edDSA])
    func `each algorithm that the provider lists is accepted`(algorithm: SignatureAlgorithm) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.idTokenAlgorithm = algorithm
        try await World.run(configuration) { world in
            let state = try await world.signIn()
            #expect(await state.record.idToken?.subject == "248289761001")
        }
    }

    /// OpenID Connect Core §3.3.3.6: both ID tokens are about the same user.
    @Test(arguments: [nil, "somebody-else"])
    func `the ID token of the code and that of the tokens are about one user`(other: String?) async throws {
        try await World.run { world in
            var options = AuthorizationRequest.Options()
            (options.responseType, options.responseMode) = (.codeIDToken, .formPost)
            let response = try await world.authorize(world.client(), options: options)
            if let other { world.provider.fault(.editIDToken { $0.claims["sub"] = .string(other) }, at: .token) }
            let store = TestStore()
            let error = await authError {
                _ = try await AuthState.exchange(response, store: store, environment: world.environment)
            }
            #expect((error?.code == .invalidIDToken) == (other != nil), "\(String(describing: error))")
            #expect(await (store.record == nil) == (other != nil))
        }
    }

    // rp-id_token-sig-hs256
    @Test func `an ID token signed with the client secret needs no keys`() async throws {
        try await World.run { world in
            let secret = try #require(RegisteredClient.demoConfidential.secret)
            world.provider.fault(
                .editDocument {
                    $0["id_token_signing_alg_values_supported"] = ["HS256"]
                    $0["jwks_uri"] = nil
                }, at: .openIDConfiguration)
            world.provider.fault(
                .editIDToken {
                    $0.signature = .secret(.hs256, Array(secret.utf8))
                    $0.claims["at_hash"] = nil
                }, at: .token)
            let client = try await world.client("demo-confidential", .clientSecretBasic(Secret(secret)))
            let state = try await world.signIn(client)
            #expect(await state.record.idToken != nil)
            #expect(world.provider.count(.keys) == 0)
        }
    }

    // oidcc-client-test-signing-key-rotation-just-before-signing
    @Test func `keys that are new at the provider are fetched for the token that they signed`() async throws {
        try await World.run { world in
            let response = try await world.authorize(world.client())
            // The first response is an old key set, as a cache on the way may have it.
            world.provider.fault(.editDocument { $0["keys"] = [] }, at: .keys)
            let state = try await AuthState.exchange(
                response, store: MemoryTokenStore(), environment: world.environment)
            #expect(await state.record.idToken != nil)
            #expect(world.provider.count(.keys) == 2)
        }
    }

    // oidcc-client-test-invalid-iss, …-invalid-aud, …-missing-sub, …-missing-iat, …-nonce-invalid, …-invalid-athash,
    // …-idtoken-sig-none, …-invalid-sig-rs256, fapi2-…-invalid-secondary-aud
    @Test(
        arguments: [
            ("iss", .editIDToken { $0.claims["iss"] = "https://evil.example" }),
            ("aud", .editIDToken { $0.claims["aud"] = "other" }),
            ("aud", .editIDToken { $0.claims["aud"] = nil }),
            ("audience", .editIDToken { $0.claims["aud"] = ["demo", "other"] }),
            ("sub", .editIDToken { $0.claims["sub"] = nil }), ("iat", .editIDToken { $0.claims["iat"] = nil }),
            ("nonce", .editIDToken { $0.claims["nonce"] = "other" }),
            ("at_hash", .editIDToken { $0.claims["at_hash"] = "AA" }),
            ("signature", .editIDToken { $0.signature = .unpublishedKey(.rs256) }),
            ("signature", .editIDToken { $0.signature = .damaged(.rs256) }),
            ("algorithm", .editIDToken { $0.signature = .none }),
            ("secret", .editIDToken { $0.signature = .secret(.hs256, [UInt8](repeating: 1, count: 32)) }),
            ("matching key", .editIDToken { $0.header["kid"] = "unknown" }),
            ("typ", .editIDToken { $0.header["typ"] = "at+jwt" }),
        ] as [(String, Fault)])
    func `a wrong ID token ends the sign-in with nothing stored`(
        what: String, fault: Fault
    ) async throws {
        try await World.run { world in
            world.provider.fault(
                .editDocument { document in
                    let listed = document["id_token_signing_alg_values_supported"]?.array ?? []
                    document["id_token_signing_alg_values_supported"] = .array(listed + ["HS256"])
                }, at: .openIDConfiguration)
            world.provider.fault(fault, at: .token)
            let store = TestStore()
            let error = try #require(await authError { try await world.signIn(store: store) })
            #expect(error.code == .invalidIDToken)
            #expect(error.message.contains(what), "\(error.message)")
            #expect(await store.saves == 0)
        }
    }

    @Test func `a wrong clock is reported as clock_skew`() async throws {
        try await World.run { world in
            world.provider.fault(.editIDToken { $0.claims["iat"] = .number(.init(1_750_007_200)) }, at: .token)
            let error = try #require(await authError { try await world.signIn() })
            #expect(error.code == .clockSkew)
            #expect(error.message.contains("7200 s ahead"))
        }
    }

    @Test func `an ID token is required if and only if the scope has openid`() async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["id_token"] = nil }, at: .token)
            let error = try #require(await authError { try await world.signIn() })
            #expect(error.code == .invalidIDToken)
            let state = try await world.signIn(scope: [.profile])
            #expect(await state.record.idToken == nil)
            #expect(await state.record.accessToken != nil)
            #expect(world.provider.log(.authorization).last?.query["nonce"] == nil)
        }
    }

    @Test func `a session is restored as it was, and nothing is sent for that`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let requests = world.provider.log.count
            let restored = try #require(try await AuthState(restoring: store, environment: world.environment))
            #expect(await restored.record == state.record)
            #expect(try await restored.freshAccessToken() == state.freshAccessToken())
            #expect(world.provider.log.count == requests)
            #expect(try await AuthState(restoring: TestStore(), environment: world.environment) == nil)
        }
    }

    @Test func `a refresh in a new process needs no key request`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.keysCacheControl = "max-age=86400"
        try await World.run(configuration) { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            world.clock.advance(by: 3600)
            let record = try #require(await store.record)
            let stored = try AuthStateRecord(decoding: record.encoded(), from: "test")
            let restored = try await AuthState(record: stored, store: store, environment: world.environment)
            _ = try await restored.freshAccessToken()
            #expect(world.provider.count(.token) == 2)
            #expect(world.provider.count(.keys) == 1)
        }
    }

    @Test(arguments: [true, false])
    func `a store that refuses is an error of the store, and there is no session`(isForeign: Bool) async throws {
        try await World.run { world in
            let store = TestStore()
            let refused = AuthError(.store, .store, "the disk is full", outcome: .notSent)
            await store.refuse(with: isForeign ? TestStore.Refusal() : refused)
            let error = try #require(await authError { try await world.signIn(store: store) })
            #expect(error.code == .store)
            #expect(error.message.contains(isForeign ? "test store" : "disk is full"))
            let loading = await authError { try await AuthState(restoring: store, environment: world.environment) }
            #expect(loading?.code == .store)
        }
    }
}
