import AppAuthServer
import AppAuth
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// RFC 9449, at a real server that checks every proof.
@Suite(.timeLimit(.minutes(1)))
struct DPoPSessionTests {
    @Test(arguments: DPoPAlgorithm.allCases)
    func `a session's tokens are bound to its key, from the code on`(algorithm: DPoPAlgorithm) async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound(algorithm))
            let token = try await state.freshAccessToken()
            #expect(token.type == .dpop)
            let first = try #require(world.provider.log(.authorization).first?.query["dpop_jkt"])
            #expect(first == state.proof?.key.thumbprint)
            #expect(try await state.userInfo().subject == "248289761001")
            let sent = try #require(world.provider.log(.userInfo).last)
            #expect(sent.headers[.authorization]?.hasPrefix("DPoP ") == true)
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(try await state.userInfo().subject == "248289761001")
        }
    }

    // fapi2-…-happy-path
    @Test func `a required nonce is sent with one repeated request`() async throws {
        var configuration = Self.strict
        configuration.dpopNonce = .required()
        try await World.run(configuration) { world in
            let state = try await world.signIn(world.bound())
            // The challenge and the response; the resource of the same server then knows the nonce.
            #expect(world.provider.count(.token) == 2)
            _ = try await state.userInfo()
            #expect(world.provider.count(.userInfo) == 1)
            // A nonce that the server has forgotten is replaced in the same call.
            world.provider.forgetDPoPNonces()
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.token) == 4)
            world.provider.forgetDPoPNonces()
            #expect(try await state.userInfo().subject == "248289761001")
            #expect(world.provider.count(.userInfo) == 3)
        }
    }

    /// A server may have used up the refresh token before it asks for a nonce.
    @Test func `another process knows the nonce of the token endpoint`() async throws {
        var configuration = Self.strict
        configuration.dpopNonce = .required()
        try await World.run(configuration) { world in
            let store = MemoryTokenStore()
            func signedIn() async throws -> AuthState {
                try #require(try await AuthState(restoring: store, environment: world.environment))
            }
            _ = try await world.signIn(world.bound(), store: store)
            for expected in 3...4 {
                _ = try await signedIn().freshAccessToken(forceRefresh: true)
                #expect(world.provider.count(.token) == expected)
            }
            // The next refresh has the nonce that the server asked this one for.
            world.provider.forgetDPoPNonces()
            _ = try await signedIn().freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.token) == 6)
            _ = try await signedIn().freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.token) == 7)
            let last = try await signedIn()
            try await last.signOut()
            #expect(await last.record.proofNonce == nil)
        }
    }

    /// The servers of a cluster may each want a nonce of their own.
    @Test func `another nonce may be wanted twice`() async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound())
            for nonce in ["a", "b"] {
                world.provider.fault(
                    .status(.badRequest, [.dpopNonce: nonce], json: ["error": "use_dpop_nonce"]), at: .token)
            }
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(world.provider.count(.token) == 4)
        }
    }

    @Test func `a forgotten nonce breaks no request in flight`() async throws {
        var configuration = Self.strict
        configuration.dpopNonce = .required()
        try await World.run(configuration) { world in
            let state = try await world.signIn(world.bound())
            world.provider.forgetDPoPNonces()
            // None has its response before all of them are there.
            let hold = world.provider.hold(.api)
            let url = try SecureURL(world.provider.url(.api))
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await state.send(TransportRequest(HTTPRequest(method: .get, url: url))).status.code
                    }
                }
                try await hold.arrived(20)
                hold.release()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 20))
            #expect(world.provider.count(.api) == 40)
        }
    }

    @Test func `the key is stored with the session for other processes`() async throws {
        try await World.run(Self.strict) { world in
            let store = MemoryTokenStore()
            let state = try await world.signIn(world.bound(), store: store)
            let again = try #require(try await AuthState(restoring: store, environment: world.environment))
            #expect(again.proof?.key == state.proof?.key)
            _ = try await again.freshAccessToken(forceRefresh: true)
            #expect(try await again.userInfo().subject == "248289761001")
            let bytes = try await again.record.encoded()
            let read = try AuthStateRecord(decoding: bytes, from: "here")
            #expect(read.proofKey == state.proof?.key)
            #expect(read.client.dpop == .es256)
        }
    }

    @Test func `a pushed request and the code that follows are bound too`() async throws {
        var configuration = Self.strict
        (configuration.requiresPushedRequests, configuration.dpopNonce) = (true, .required())
        try await World.run(configuration) { world in
            let state = try await world.signIn(world.bound())
            #expect(try await state.userInfo().subject == "248289761001")
            let pushed = try #require(world.provider.log(.pushedAuthorization).last)
            #expect(pushed.headers[.dpop] != nil)
            #expect(pushed.form["dpop_jkt"] == state.proof?.key.thumbprint)
        }
    }

    @Test func `each sign-in has a key of its own`() async throws {
        try await World.run(Self.strict) { world in
            let (first, second) = (try await world.signIn(world.bound()), try await world.signIn(world.bound()))
            #expect(first.proof?.key.thumbprint != second.proof?.key.thumbprint)
        }
    }

    @Test func `an unexpectedly bound or unbound token is rejected`() async throws {
        try await World.run { world in
            world.provider.fault(.editDocument { $0["token_type"] = "Bearer" }, at: .token)
            let unbound = await authError { try await world.signIn(world.bound()) }
            #expect(unbound?.code == .invalidResponse)
            #expect(unbound?.message.contains("expected the token type DPoP, found 'Bearer'") == true)
            world.provider.fault(.editDocument { $0["token_type"] = "dpop" }, at: .token)
            let bound = await authError { try await world.signIn() }
            #expect(bound?.message.contains("expected the token type Bearer, found 'dpop'") == true)
            // fapi2-…-token-type-case-insensitivity
            world.provider.fault(.editDocument { $0["token_type"] = "dPOP" }, at: .token)
            _ = try await world.signIn(world.bound())
        }
    }

    @Test func `a resource that reports invalid_token with the scheme DPoP gets a new token`() async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound())
            world.provider.fault(
                .status(.unauthorized, [.wwwAuthenticate: #"dPoP algs="ES256", error="invalid_token""#]), at: .userInfo)
            #expect(try await state.userInfo().subject == "248289761001")
            #expect(world.provider.count(.userInfo) == 2)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a server that always requires a new nonce gets three requests`() async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound())
            let name = try #require(HTTPField.Name("DPoP-Nonce"))
            for nonce in ["a", "b", "c"] {
                world.provider.fault(
                    .status(.badRequest, [name: nonce], json: ["error": "use_dpop_nonce"]), at: .token, times: 1)
            }
            let error = await authError { try await state.freshAccessToken(forceRefresh: true) }
            #expect(error?.code == "use_dpop_nonce")
            #expect(world.provider.count(.token) == 4)
            // That was no end of the session.
            #expect(await state.record.end == nil)
        }
    }

    @Test func `the nonce of the second response is used for the next request`() async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound())
            let name = try #require(HTTPField.Name("DPoP-Nonce"))
            world.provider.fault(.status(.badRequest, [name: "a"], json: ["error": "use_dpop_nonce"]), at: .token)
            world.provider.fault(.editReply { $0.headers[name] = "b" }, at: .token)
            for _ in 0..<2 { _ = try await state.freshAccessToken(forceRefresh: true) }
            let nonces = try world.provider.log(.token).suffix(3).map {
                try jwtPart(1, $0.headers[.dpop] ?? "")["nonce"]?.string
            }
            #expect(nonces == [nil, "a", "b"])
        }
    }

    /// RFC 7523 §3: an assertion is valid once.
    @Test func `a client that signs to authenticate signs anew for the second request`() async throws {
        let key = try SigningKey.generate(.es256)
        var configuration = Self.strict
        (configuration.clients[0].keys, configuration.clients[0].authentication) = ([key.publicKey], [.privateKeyJWT])
        configuration.dpopNonce = .required()
        try await World.run(configuration) { world in
            var environment = world.environment
            environment.clientKey = { _ in try ClientKey(pem: key.pem) }
            let client = Client(
                id: "demo", authentication: .privateKeyJWT(keyNamed: "mine"), provider: try await world.metadata(),
                dpop: .es256)
            let response = try await world.authorize(client, in: environment)
            _ = try await AuthState.exchange(response, store: MemoryTokenStore(), environment: environment)
            let sent = world.provider.log(.token).compactMap { $0.form["client_assertion"] }
            #expect(sent.count == 2 && Set(sent).count == 2)
        }
    }

    @Test func `a client credentials session is bound and renews itself bound`() async throws {
        var configuration = LocalProvider.Configuration.demo
        for index in configuration.clients.indices { configuration.clients[index].requiresDPoP = true }
        try await World.run(configuration) { world in
            let client = Client(
                id: "demo-service", authentication: .clientSecretBasic(Secret("service-secret-of-thirty-two-bytes")),
                provider: try await world.metadata(), dpop: .es256)
            let store = MemoryTokenStore()
            let state = try await AuthState.present(
                .clientCredentials(), as: client, store: store, environment: world.environment)
            try await expectBound(state, in: store, world)
        }
    }

    @Test func `a session that was approved on another device is bound`() async throws {
        try await World.run(Self.strict) { world in
            let (fixture, store) = (DeviceFixture(world), MemoryTokenStore())
            var signIn = try fixture.signIn()
            signIn.dpop = .es256
            fixture.plan(duringPause: 1) { try await $0.decide() }
            try await expectBound(try await signIn.run(store: store), in: store, world)
        }
    }

    @Test func `a session that was approved by backchannel authentication is bound`() async throws {
        var configuration = Self.strict
        configuration.clients[1].requiresDPoP = true
        try await World.run(configuration) { world in
            let (fixture, store) = (BackchannelFixture(world, dpop: .es256), MemoryTokenStore())
            let authentication = try await fixture.begin()
            fixture.plan(duringPause: 1) { try $0.decide() }
            try await expectBound(try await fixture.signIn(authentication, store: store), in: store, world)
        }
    }

    /// The session continues with the same key, also after it is restored.
    private func expectBound(_ state: AuthState, in store: MemoryTokenStore, _ world: World) async throws {
        #expect(try await state.freshAccessToken().type == .dpop)
        let again = try #require(try await AuthState(restoring: store, environment: world.environment))
        #expect(again.proof?.key == state.proof?.key)
        #expect(try await again.freshAccessToken(forceRefresh: true).type == .dpop)
    }

    @Test func `a stored key of a kind that is not known is refused`() async throws {
        try await World.run(Self.strict) { world in
            let text = String(decoding: try await world.signIn(world.bound()).record.encoded(), as: UTF8.self)
            let damaged = text.replacing(#""algorithm":"ES256""#, with: #""algorithm":"XS256""#)
            #expect(damaged != text)
            #expect(refusal { try AuthStateRecord(decoding: Array(damaged.utf8), from: "here") }?.code == .store)
        }
    }

    @Test func `tokens are bound even if the local clock is an hour behind`() async throws {
        try await World.run(Self.strict, providerAhead: 3600) { world in
            let state = try await world.signIn(world.bound())
            #expect(try await state.userInfo().subject == "248289761001")
        }
    }

    @Test func `the end of a session removes its key and keeps its claims`() async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound())
            world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            let record = await state.record
            #expect(record.proofKey == nil)
            #expect(record.idToken != nil)
        }
    }

    @Test func `no record, error or log shows the key`() async throws {
        try await World.run(Self.strict) { world in
            let state = try await world.signIn(world.bound())
            _ = try await state.userInfo()
            let record = await state.record
            var dumped = ""
            dump(record, to: &dumped)
            for text in [dumped, "\(record)", world.log.lines.joined()] {
                #expect(!text.contains("PRIVATE KEY"))
                #expect(!text.contains(state.proof?.key.pem.reveal().split(separator: "\n").dropFirst().first ?? ""))
            }
        }
    }

    private static var strict: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients[0].requiresDPoP = true
        return configuration
    }
}

extension World {
    func bound(_ algorithm: DPoPAlgorithm = .es256) async throws -> Client {
        Client(id: "demo", provider: try await metadata(), dpop: algorithm)
    }
}
