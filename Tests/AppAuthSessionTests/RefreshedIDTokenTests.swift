import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §12.2: the ID token of a refresh is refused where that protects the user.
struct RefreshedIDTokenTests {
    // oidcc-client-test-refresh-token-invalid-issuer, …-invalid-sub
    @Test func `an ID token of another user ends the session, and nothing of the response is kept`() async throws {
        let what = "'sub'"
        let fault = Fault.editIDToken { $0.claims["sub"] = "somebody-else" }
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            let responses = Responses()
            world.provider.fault(.all([fault, .editReply { responses.add($0.body) }]), at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .signInRequired)
            #expect(error.message.contains(what), "\(error.message)")
            let after = await state.record
            #expect(after.end?.reason.contains(what) == true)
            #expect(world.log.lines.filter { $0.contains("session: ended: ") }.count == 1)
            #expect(after.accessToken == nil)
            #expect(after.refreshToken == nil)
            #expect(after.idToken == before.idToken)
            #expect(await store.record == after)
            let stored = String(decoding: try after.encoded(), as: UTF8.self)
            for token in try responses.tokens { #expect(!stored.contains(token)) }

            // The tokens that came with it are of no use, and revoked.
            for token in try responses.tokens { #expect(!world.provider.isAlive(token)) }
            let requests = world.provider.log.count
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(world.provider.log.count == requests)
        }
    }

    @Test(
        arguments: [
            ("'iss'", .editIDToken { $0.claims["iss"] = nil }),
            ("sign in again with the new one", .editIDToken { $0.claims["iss"] = "https://evil.example" }),
            ("'iss'", .editIDToken { $0.claims["iss"] = .string((($0.claims["iss"]?.string) ?? "") + "/") }),
            ("'aud'", .editIDToken { $0.claims["aud"] = "other" }),
            (
                "signature",
                .editIDToken { ($0.claims["sub"], $0.signature) = ("somebody-else", .unpublishedKey(.rs256)) }
            ),
            (
                "'iss'",
                .editIDToken { ($0.claims["iss"], $0.claims["sub"]) = ("https://evil.example", "somebody-else") }
            ),
            ("'aud'", .editIDToken { $0.claims["aud"] = nil }),
            ("'aud'", .editIDToken { $0.claims["aud"] = ["other", "another"] }),
            ("'azp'", .editIDToken { $0.claims["azp"] = "other" }),
            ("'nonce'", .editIDToken { $0.claims["nonce"] = "other" }),
            ("'nonce'", .editIDToken { $0.claims["nonce"] = 1 }),
            ("'sub'", .editIDToken { $0.claims["sub"] = nil }),
            ("'at_hash'", .editIDToken { $0.claims["at_hash"] = "AA" }),
            ("signature", .editIDToken { $0.signature = .damaged(.rs256) }),
            ("signature", .editIDToken { $0.signature = .unpublishedKey(.rs256) }),
            ("algorithm", .editIDToken { $0.signature = .none }),
        ] as [(String, Fault)])
    func `a token that is refused ends nothing: the rotated refresh token is kept, and no other`(
        what: String, fault: Fault
    ) async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let before = await state.record
            world.provider.fault(fault, at: .token)
            let error = try #require(await authError { try await state.freshAccessToken(forceRefresh: true) })
            #expect(error.code == .invalidIDToken && error.message.contains(what), "\(error.message)")
            let after = await state.record
            #expect(after.end == nil && after.refreshToken != before.refreshToken)
            #expect(after.accessToken == before.accessToken && after.idToken == before.idToken)
            #expect(await store.record == after)
            #expect(world.provider.count(.revocation) == 0)
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

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

    @Test func `if the metadata still does not list the algorithm, the token is rejected after one fetch`() async throws
    {
        try await World.run { world in
            let state = try await world.signIn()
            let discoveries = world.provider.count(.openIDConfiguration)
            world.provider.fault(.editIDToken { $0.signature = .none }, at: .token)
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == .invalidIDToken && error?.message.contains("algorithm") == true)
            #expect(world.provider.count(.openIDConfiguration) == discoveries + 1)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `a nonce may be left out and repeated, but not be another`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let nonce = try #require(await state.record.nonce).reveal()
            let edits: [@Sendable (inout JWTDraft) -> Void] = [
                { $0.claims["nonce"] = nil }, { $0.claims["nonce"] = .string(nonce) }, { $0.claims["nonce"] = .null },
            ]
            for edit in edits {
                world.provider.fault(.editIDToken(edit), at: .token)
                _ = try await state.freshAccessToken(forceRefresh: true)
            }
            world.provider.fault(.editIDToken { $0.claims["nonce"] = .string(nonce + "x") }, at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .invalidIDToken)
        }
    }

    @Test func `keys that were rotated in the meantime are fetched`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            try world.provider.rotateSigningKeys()
            try world.provider.withdrawOldSigningKeys()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.keys) == 2)
            #expect(await state.record.end == nil)
        }
    }

    @Test func `a key without a name that was rotated is fetched too (Core §10.1.1)`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.idTokenAlgorithm = .es256
        try await World.run(configuration) { world in
            let nameless = Fault.editIDToken { $0.header["kid"] = nil }
            world.provider.fault(nameless, at: .token)
            let state = try await world.signIn()
            try world.provider.rotateSigningKeys()
            try world.provider.withdrawOldSigningKeys()
            world.provider.fault(nameless, at: .token)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await state.record.end == nil)
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

/// The tokens of the responses that went out.
private final class Responses: Sendable {
    private let bodies = LockedValue<[[UInt8]]>([])

    func add(_ body: [UInt8]) { bodies.withLock { $0.append(body) } }

    var tokens: [String] {
        get throws {
            let responses = try bodies.withLock { $0 }.map { try JSON(parsing: $0) }
            let names = ["access_token", "refresh_token", "id_token"]
            let tokens = responses.flatMap { response in names.compactMap { response[$0]?.string } }
            try #require(tokens.count == 3)
            return tokens
        }
    }
}
