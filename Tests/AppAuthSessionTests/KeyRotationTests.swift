import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §10.1.1: keys as providers really change them.
struct KeyRotationTests {
    // oidcc-client-test-signing-key-rotation-just-before-signing
    @Test func `an unknown key is fetched once`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            try world.provider.rotateSigningKeys()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.keys) == 2)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.keys) == 2)
        }
    }

    @Test func `keys that another process has fetched are used, and are not replaced by older ones`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            try world.provider.rotateSigningKeys()
            world.clock.advance(by: 1)
            _ = try await second.freshAccessToken(forceRefresh: true)
            let newer = try #require(await store.record?.keys)
            world.provider.fault(.status(.serviceUnavailable), at: .keys, times: nil)
            try await first.synchronize()
            _ = try await first.freshAccessToken(forceRefresh: true)
            #expect(await first.record.idTokenError(at: world.clock.timestamp) == nil)
            #expect(world.provider.count(.token) == 3 && world.provider.count(.keys) == 2)
            #expect(await store.record?.keys == newer)
        }
    }

    @Test func `a key that is published late is fetched later, and nothing is lost`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let document = try await keys(world)
            try world.provider.rotateSigningKeys()
            // A cache between here and the provider still has the old document.
            world.provider.fault(.editDocument { $0 = document }, at: .keys)
            _ = try await state.freshAccessToken(forceRefresh: true)
            let error = try #require(await state.record.idTokenError(at: world.clock.timestamp))
            #expect(error.code == .invalidIDToken && error.isTemporary && error.message.contains("found none"))
            world.provider.clearFaults()
            world.clock.advance(by: 60)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.idTokenError(at: world.clock.timestamp) == nil)
        }
    }

    @Test func `a token signed by a withdrawn key is rejected once the keys are fetched again`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let old = try #require(await state.record.idToken?.rawValue)
            let client = await state.record.client
            try world.provider.rotateSigningKeys()
            let cache = try cache(world)
            let verifier = verifier(client, world)
            let expected = IDTokenVerifier.Expectations(nonce: await state.record.nonce)
            _ = try await verifier.verify(old, keys: cache.keys(), expecting: expected)
            try world.provider.withdrawOldSigningKeys()
            let fetched = try #require(try await cache.refetch())
            let error = try #require(refusal { try verifier.verify(old, keys: fetched, expecting: expected) })
            #expect(error.message.contains("expected a matching key"))
            // The session continues with the new key.
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `another key under the same kid is fetched, and the session continues`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let kid = try await kid(state)
            try world.provider.replaceSigningKeys()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(try await self.kid(state) == kid)
            #expect(world.provider.count(.keys) == 2)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `a forged signature causes one key request and is rejected permanently`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.provider.fault(.editIDToken { $0.signature = .unpublishedKey(.rs256) }, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .invalidIDToken && !error.isTemporary && error.message.contains("found another"))
            #expect(world.provider.count(.keys) == 2)
        }
    }

    @Test func `within a minute the keys are not fetched again, and the refusal is a temporary one`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            try world.provider.replaceSigningKeys()
            _ = try await state.freshAccessToken(forceRefresh: true)
            try world.provider.replaceSigningKeys()
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .invalidIDToken && error.isTemporary && error.message.contains("found another"))
            #expect(world.provider.count(.keys) == 2)
            world.clock.advance(by: 60)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.keys) == 3)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `two providers that share a kid are not confused`() async throws {
        try await World.run { world in
            try await World.run { other in
                // The providers of one process begin with the same RSA keys.
                try other.provider.rotateSigningKeys()
                try other.provider.withdrawOldSigningKeys()
                for each in [world, other] {
                    each.provider.fault(.editDocument { Self.rename(&$0) }, at: .keys, times: nil)
                    each.provider.fault(.editIDToken { $0.header["kid"] = "1" }, at: .token, times: nil)
                }
                let (mine, theirs) = (try await world.signIn(), try await other.signIn())
                let token = try #require(await theirs.record.idToken?.rawValue)
                for state in [mine, theirs] { _ = try await state.freshAccessToken(forceRefresh: true) }
                #expect(world.provider.count(.keys) == 1 && other.provider.count(.keys) == 1)

                // A token of one is not by the key of that name which the other has.
                let verifier = verifier(await theirs.record.client, other)
                let expected = IDTokenVerifier.Expectations(nonce: await theirs.record.nonce)
                _ = try await verifier.verify(token, keys: cache(other).keys(), expecting: expected)
                let foreign = try await cache(world).keys()
                let error = try #require(refusal { try verifier.verify(token, keys: foreign, expecting: expected) })
                #expect(error.message.contains("expected a signature by the provider’s key, found another"))
            }
        }
    }

    // RFC 9864 §2.2, §4.1.2.
    @Test(arguments: ["EdDSA", "Ed25519"])
    func `a token of Ed25519 is verified by either name of a list`(listed: String) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].idTokenAlgorithm = .ed25519
        try await World.run(configuration) { world in
            world.provider.fault(
                .editDocument { $0["id_token_signing_alg_values_supported"] = [.string(listed)] },
                at: .openIDConfiguration)
            let token = try #require(await world.signIn().record.idToken?.rawValue.reveal())
            #expect(try JWS(compact: token).header.alg == "Ed25519")
        }
    }

    private static func rename(_ document: inout JSON.Object) {
        let keys = document["keys"]?.array ?? []
        document["keys"] = .array(
            keys.map { key in
                guard var object = key.object, object["alg"] == "RS256" else { return key }
                object["kid"] = "1"
                return .object(object)
            })
    }

    private func verifier(_ client: Client, _ world: World) -> IDTokenVerifier {
        var verifier = IDTokenVerifier(client: client)
        verifier.now = { world.clock.timestamp }
        return verifier
    }

    private func cache(_ world: World) throws -> KeySetCache {
        KeySetCache(url: try SecureURL(world.provider.url(.keys)), environment: world.environment)
    }

    private func keys(_ world: World) async throws -> JSON.Object {
        let cache = try cache(world)
        _ = try await cache.keys()
        return try #require(cache.entry?.document.object)
    }

    private func kid(_ state: AuthState) async throws -> String? {
        try JWS(compact: #require(await state.record.idToken?.rawValue.reveal())).header.kid
    }

    /// Another process has stored the keys of the URL that was valid before.
    @Test func `keys of another URL are not adopted from the store`() async throws {
        try await World.run { world in
            let other = try await world.signIn()
            var client = await other.record.client
            var document = client.provider.document
            document["jwks_uri"] = .string(world.provider.issuer + "/moved")
            client.provider = try ProviderMetadata(document: .object(document))
            let store = TestStore(await other.record)
            let state = try #require(
                await AuthState(restoring: store, as: client, environment: world.environment))
            world.clock.advance(by: 3000)
            let token = try await other.freshAccessToken(forceRefresh: true)
            await store.put(await other.record)
            world.clock.advance(by: 700)
            #expect(try await state.freshAccessToken() == token)
            #expect(await other.record.keys != nil)
            #expect(await state.record.keys == nil)
        }
    }
}
