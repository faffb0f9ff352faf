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
