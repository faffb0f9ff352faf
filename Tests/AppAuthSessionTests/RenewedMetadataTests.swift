import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The metadata that a session has stored, and what the provider says months later.
struct RenewedMetadataTests {
    @Test(arguments: [
        ("id_token_signing_alg_values_supported", JSON.array(["ES256"])), ("jwks_uri", "old"), ("jwks_uri", .null),
    ])
    func `the provider's keys and algorithms may have changed since the sign-in`(name: String, value: JSON)
        async throws
    {
        try await World.run { world in
            let record = try await world.signIn().record
            let provider = record.client.provider
            let old = value == "old" ? .string(world.provider.issuer + "/old") : value
            let store = TestStore(try AuthStateRecord(decoding: record.outdated(name, old), from: "test"))
            let state = try #require(await AuthState(restoring: store, environment: world.environment))
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.client.provider == provider)
            #expect(await store.record?.client.provider == provider)
            let discoveries = world.provider.count(.openIDConfiguration)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.openIDConfiguration) == discoveries)
        }
    }

    /// What a server may answer at the place where its token endpoint was, and whether it may have acted on the request.
    @Test(arguments: [
        (Fault.status(.notFound), true), (.status(.gone), true), (.status(.methodNotAllowed), true),
        (.redirect(to: "https://op.example/token"), true), (.status(.internalServerError), false),
        (.oauthError("invalid_request", .notFound), false),
    ])
    func `a token endpoint that has moved is found by the metadata`(fault: Fault, isFound: Bool) async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            let old = try record.outdated("token_endpoint", .string(world.provider.issuer + "/old"))
            let store = TestStore(try AuthStateRecord(decoding: old, from: "test"))
            let state = try #require(await AuthState(restoring: store, environment: world.environment))
            world.provider.fault(fault, at: .none)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect((error == nil) == isFound, "\(error as Any)")
            #expect(world.provider.count(.none) == 1 && world.provider.count(.token) == (isFound ? 2 : 1))
            #expect(await state.record.refreshToken != nil)
            guard isFound else { return }
            #expect(await store.record?.client.provider == record.client.provider)
        }
    }

    /// A revocation and a request for the user's claims find the new place, too.
    @Test(arguments: [["userinfo_endpoint"], ["userinfo_endpoint", "token_endpoint"], ["revocation_endpoint"]])
    func `another endpoint that has moved is found by the metadata`(names: [String]) async throws {
        try await World.run { world in
            var record = try await world.signIn().record
            for name in names {
                let old = try record.outdated(name, .string(world.provider.issuer + "/old"))
                record = try AuthStateRecord(decoding: old, from: "test")
            }
            let state = try #require(await AuthState(restoring: TestStore(record), environment: world.environment))
            // The refresh before the request has the new metadata, and the request is still sent to the old place.
            if names.count > 1 { world.clock.advance(by: 7200) }
            let discoveries = world.provider.count(.openIDConfiguration)
            world.provider.fault(.status(.notFound), at: .none, times: nil)
            if names.contains("userinfo_endpoint") {
                #expect(try await state.userInfo().subject == state.claims?.subject)
            } else {
                let revocations = try await state.signOut()
                #expect(revocations.count == 2 && revocations.allSatisfy { $0.error == nil }, "\(revocations)")
            }
            #expect(world.provider.count(.openIDConfiguration) == discoveries + 1)
        }
    }

    /// The new session knows the endpoint; the one that it replaces has the metadata of months ago.
    @Test func `a session that another user replaces is revoked where the endpoint is now`() async throws {
        try await World.run(UnusedTokensTests.configuration) { world in
            let record = try await world.signIn().record
            let old = try record.outdated("revocation_endpoint", .string(world.provider.issuer + "/old"))
            let store = TestStore(try AuthStateRecord(decoding: old, from: "test"))
            world.provider.fault(.status(.notFound), at: .none, times: nil)
            let response = try await world.authorize(try await world.client(), as: UnusedTokensTests.bob)
            let state = try await AuthState.exchange(response, store: store, environment: world.environment)
            await state.settle()
            #expect(world.provider.count(.none) == 2 && world.provider.count(.revocation) == 2)
            #expect(!world.provider.isAlive(try #require(record.refreshToken).reveal()))
        }
    }

    /// The user has agreed to the hosts of a provider that only a resource has named.
    @Test(arguments: [true, false])
    func `endpoints move to another host only if the provider is the user's choice`(isNamedByResource: Bool)
        async throws
    {
        try await World.run { world in
            var record = try await world.signIn().record
            let old = "https://op.example/token"
            record.client.provider = try AuthStateRecord(
                decoding: record.outdated("token_endpoint", .string(old)), from: "test"
            ).client.provider
            if isNamedByResource { record.client.provider.resource = try SecureURL("https://api.example/") }
            let provider = try await world.metadata()
            #expect(
                record.client.provider.renewed(by: provider)[.token]?.string
                    == (isNamedByResource ? old : world.provider.url(.token)))
        }
    }

    @Test func `they are looked for where the app has found the metadata`() async throws {
        try await World.run { world in
            let old = try await world.signIn().record.outdated("id_token_signing_alg_values_supported", ["ES256"])
            var record = try AuthStateRecord(decoding: old, from: "test")
            record.client.provider.location = try SecureURL(world.provider.url(.oauthMetadata))
            let state = try #require(await AuthState(restoring: TestStore(record), environment: world.environment))
            let discoveries = world.provider.count(.openIDConfiguration)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.openIDConfiguration) == discoveries)
            #expect(world.provider.count(.oauthMetadata) == 1)
            #expect(await state.record.client.provider.location == record.client.provider.location)
        }
    }

    @Test func `metadata that an app has put together is not changed`() async throws {
        try await World.run { world in
            var record = try await world.signIn().record
            var document = record.client.provider.document
            document["id_token_signing_alg_values_supported"] = ["ES256"]
            record.client.provider = try ProviderMetadata(document: .object(document))
            let store = TestStore(record)
            let state = try #require(await AuthState(restoring: store, environment: world.environment))
            let discoveries = world.provider.count(.openIDConfiguration)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .invalidIDToken && error?.message.contains("ES256") == true)
            #expect(world.provider.count(.openIDConfiguration) == discoveries)
            #expect(await store.record?.client.provider == record.client.provider)
        }
    }
}

extension AuthStateRecord {
    /// With other metadata, and without keys.
    fileprivate func outdated(_ name: String, _ value: JSON) throws -> [UInt8] {
        var json = try #require(JSON(parsing: encoded()).object)
        var client = try #require(json["client"]?.object)
        var provider = try #require(client["provider"]?.object)
        provider[name] = value
        client["provider"] = .object(provider)
        (json["client"], json["keys"]) = (.object(client), nil)
        return Array(JSON.object(json).serialized().utf8)
    }
}
