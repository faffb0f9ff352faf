import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// Sessions that begin without a browser (RFC 6749 §4.4, §4.5).
struct GrantTests {
    private static let secret = Secret("service-secret-of-thirty-two-bytes")

    private func service(_ world: World, dpop: DPoPAlgorithm? = nil) async throws -> Client {
        let provider = try await world.metadata()
        return Client(
            id: "demo-service", authentication: .clientSecretBasic(Self.secret), provider: provider, dpop: dpop)
    }

    private func password(_ text: String = "looking-glass", scope: [Scope] = [.openID]) throws -> TokenGrant {
        try TokenGrant(
            GrantType(rawValue: "password"), scope: scope,
            parameters: ["username": Secret("alice"), "password": Secret(text)])
    }

    private func confidentialClient(_ world: World) async throws -> Client {
        try await world.client("demo-confidential", .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")))
    }

    @Test func `client credentials are presented as they should be, and the session renews itself by them`()
        async throws
    {
        try await World.run { world in
            let store = TestStore()
            let state = try await AuthState.present(
                .clientCredentials(scope: ["api"]), as: service(world), store: store,
                environment: world.environment)
            let first = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == 1)
            let record = await state.record
            #expect(record.scope == ["api"] && record.renewsItself && !record.hasRefreshToken)
            #expect(await store.record == record)

            world.clock.advance(by: 24 * 3600)
            let second = try await state.freshAccessToken()
            #expect(second.value != first.value && !second.isExpired(at: world.clock.timestamp))
            let sent = world.provider.log(.token).map { String(decoding: $0.body, as: UTF8.self) }
            #expect(sent == Array(repeating: "grant_type=client_credentials&scope=api", count: 2))
        }
    }

    @Test func `callers at the same time share one renewal`() async throws {
        try await World.run { world in
            let state = try await AuthState.present(
                .clientCredentials(), as: service(world), store: TestStore(),
                environment: world.environment)
            world.clock.advance(by: 24 * 3600)
            let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
                for _ in 0..<50 { group.addTask { try await state.freshAccessToken().value } }
                return try await group.reduce(into: Set<Secret>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a restored client credentials session renews itself`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await AuthState.present(
                .clientCredentials(scope: ["api"]), as: service(world), store: store,
                environment: world.environment)
            let stored = try #require(await store.record)
            let copy = try AuthStateRecord(decoding: stored.encoded(), from: "test")
            #expect(copy == stored)
            world.clock.advance(by: 24 * 3600)
            let state = try #require(
                try await AuthState(restoring: TestStore(copy), environment: world.environment))
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test(arguments: [nil, DPoPAlgorithm.es256])
    func `restoreOrPresent requests a token once, and restores the session from then on`(dpop: DPoPAlgorithm?)
        async throws
    {
        try await World.run { world in
            let store = TestStore()
            let client = try await service(world, dpop: dpop)
            let grant = try TokenGrant.clientCredentials(scope: ["api"])
            for _ in 0..<3 {
                let state = try await AuthState.restoreOrPresent(
                    grant, as: client, store: store, environment: world.environment)
                _ = try await state.freshAccessToken()
            }
            #expect(world.provider.count(.token) == 1)
            // The session renews itself, so the end of its token is no reason for another.
            let id = await store.record?.id
            world.clock.advance(by: 24 * 3600)
            let state = try await AuthState.restoreOrPresent(
                grant, as: client, store: store, environment: world.environment)
            #expect(world.provider.count(.token) == 1)
            _ = try await state.freshAccessToken()
            #expect(await store.record?.id == id && world.provider.count(.token) == 2)
        }
    }

    @Test(arguments: ["scope", "client", "end", "user", "key"])
    func `restoreOrPresent replaces a session that is not the client's own`(difference: String) async throws {
        try await World.run { world in
            let store = TestStore()
            var client = try await service(world)
            let grant = try TokenGrant.clientCredentials(scope: ["api"])
            switch difference {
            case "key":
                _ = try await AuthState.present(grant, as: client, store: store, environment: world.environment)
                client = try await service(world, dpop: .es256)
            case "scope":
                _ = try await AuthState.present(
                    .clientCredentials(), as: client, store: store, environment: world.environment)
            case "client":
                _ = try await AuthState.present(
                    grant, as: confidentialClient(world), store: store, environment: world.environment)
            case "end":
                let state = try await AuthState.present(
                    grant, as: client, store: store, environment: world.environment)
                var json = try #require(try JSON(parsing: await state.record.encoded()).object)
                json["end"] = ["reason": "a test", "date": 1]
                await store.put(
                    try AuthStateRecord(decoding: Array(JSON.object(json).serialized().utf8), from: "test"))
            default: await store.put(try await world.signIn().record)
            }
            let (id, count) = (await store.record?.id, world.provider.count(.token))
            _ = try await AuthState.restoreOrPresent(grant, as: client, store: store, environment: world.environment)
            let record = try #require(await store.record)
            #expect(record.id != id && record.grant == grant && record.client.id == client.id && record.end == nil)
            #expect(world.provider.count(.token) == count + 1)
        }
    }

    @Test func `restoreOrPresent reads the store once if the session can be used`() async throws {
        try await World.run { world in
            let (base, client) = (TestStore(), try await service(world))
            _ = try await AuthState.present(
                .clientCredentials(), as: client, store: base, environment: world.environment)
            let store = ReadCounter(base: base)
            _ = try await AuthState.restoreOrPresent(
                .clientCredentials(), as: client, store: store, environment: world.environment)
            #expect(store.reads.withLock { $0 } == 1 && store.checks.withLock { $0 } == 0)
        }
    }

    @Test func `a store that cannot take a session is found out before a token is requested`() async throws {
        try await World.run { world in
            let (client, store) = (try await service(world), ReadCounter(base: TestStore(), isFull: true))
            let error = await #expect(throws: AuthError.self) {
                try await AuthState.restoreOrPresent(
                    .clientCredentials(), as: client, store: store, environment: world.environment)
            }
            #expect(error?.code == .store && world.provider.count(.token) == 0)
            let usable = ReadCounter(base: TestStore())
            _ = try await AuthState.present(
                .clientCredentials(), as: client, store: usable, environment: world.environment)
            #expect(usable.checks.withLock { $0 } == 1 && world.provider.count(.token) == 1)
        }
    }

    @Test func `restoreOrPresent takes the app's secret, not the stored one`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await AuthState.present(
                .clientCredentials(), as: service(world), store: store, environment: world.environment)
            let right = await state.record.client
            var record = await state.record
            record.client = try await world.client("demo-service", .clientSecretBasic(Secret("an older secret")))
            await store.put(record)
            let restored = try await AuthState.restoreOrPresent(
                .clientCredentials(), as: right, store: store, environment: world.environment)
            #expect(world.provider.count(.token) == 1)
            _ = try await restored.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `restoreOrPresent begins a session anew if it can neither be used nor renewed`() async throws {
        try await World.run { world in
            let (store, client) = (TestStore(), try await confidentialClient(world))
            // Without offline_access there is no refresh token.
            for _ in 0..<2 {
                _ = try await AuthState.restoreOrPresent(
                    password(), as: client, store: store, environment: world.environment)
            }
            #expect(world.provider.count(.token) == 1)
            world.clock.advance(by: 24 * 3600)
            let state = try await AuthState.restoreOrPresent(
                password(), as: client, store: store, environment: world.environment)
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `other parameters have a token of their own`() async throws {
        try await World.run { world in
            let state = try await AuthState.present(
                .clientCredentials(), as: service(world), store: TestStore(),
                environment: world.environment)
            let own = try await state.freshAccessToken()
            let narrow = try await state.freshAccessToken(parameters: TokenParameters(scope: ["api"]))
            #expect(own.value != narrow.value)
            #expect(try await state.freshAccessToken().value == own.value)
            let last = try #require(world.provider.log(.token).last)
            #expect(String(decoding: last.body, as: UTF8.self) == "grant_type=client_credentials&scope=api")
        }
    }

    @Test(arguments: ["invalid_client", "invalid_grant", "unauthorized_client"])
    func `an error ends no session that its client can renew`(code: String) async throws {
        try await World.run { world in
            let state = try await AuthState.present(
                .clientCredentials(), as: service(world), store: TestStore(),
                environment: world.environment)
            world.clock.advance(by: 24 * 3600)
            world.provider.fault(.status(.badRequest, json: ["error": .string(code)]), at: .token)
            #expect(await authError { try await state.freshAccessToken() }?.code.rawValue == code)
            #expect(await state.record.end == nil)
            world.clock.advance(by: 1)
            _ = try await state.freshAccessToken()
        }
    }

    @Test func `a signed-out session renews itself no more`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await AuthState.present(
                .clientCredentials(), as: service(world), store: store, environment: world.environment)
            try await state.forget()
            #expect(await store.record == nil)
            #expect(await authError { try await state.freshAccessToken() }?.code == .signInRequired)
            #expect(await !state.record.renewsItself)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `a rejected client gets no session, and a stored session stays`() async throws {
        try await World.run { world in
            let before = try await world.signIn().record
            let store = TestStore(before)
            let client = try await world.client("demo-service", .clientSecretBasic(Secret("wrong")))
            let error = await authError {
                try await AuthState.present(
                    .clientCredentials(), as: client, store: store, environment: world.environment)
            }
            #expect(error?.code == .invalidClient)
            #expect(await store.record == before)
        }
    }

    @Test func `a user grant returns a verified ID token, is not stored, and refreshes afterwards`()
        async throws
    {
        try await World.run { world in
            let store = TestStore()
            let state = try await AuthState.present(
                password(scope: [.openID, .offlineAccess]), as: confidentialClient(world), store: store,
                environment: world.environment)
            let record = await state.record
            #expect(record.idToken?.subject == User.alice.subject)
            #expect(record.hasRefreshToken && record.renewsItself && record.grant == nil)
            let stored = String(decoding: try #require(await store.record).encoded(), as: UTF8.self)
            #expect(!stored.contains("looking-glass"))
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(
                String(decoding: world.provider.log(.token)[1].body, as: UTF8.self).contains("grant_type=refresh_token")
            )
        }
    }

    @Test(arguments: [false, true])
    func `the last step may refuse the session, and then the stored one stays`(refuses: Bool) async throws {
        struct Refusal: Error {}
        try await World.run { world in
            let (store, client) = (TestStore(), try await confidentialClient(world))
            _ = try await AuthState.present(password(), as: client, store: store, environment: world.environment)
            let before = await store.record
            do {
                _ = try await AuthState.present(
                    password(), as: client, store: store, environment: world.environment
                ) { state in
                    #expect(await state.claims?.subject == "248289761001")
                    if refuses { throw Refusal() }
                }
                #expect(!refuses)
            } catch is Refusal {}
            #expect(await (store.record == before) == refuses)
        }
    }

    @Test func `a wrong password is the server's own error, without the password`() async throws {
        try await World.run { world in
            let client = try await confidentialClient(world)
            let error = try #require(
                await authError {
                    try await AuthState.present(
                        password("open-sesame"), as: client, store: TestStore(),
                        environment: world.environment)
                })
            #expect(error.code == .invalidGrant && error.httpStatus == 400)
            #expect(!"\(error)".contains("open-sesame"))
        }
    }

    @Test(arguments: ["aud", "at_hash"]) func `an ID token that cannot be verified is no session`(claim: String)
        async throws
    {
        try await World.run { world in
            world.provider.fault(.editIDToken { $0.claims[claim] = "another" }, at: .token)
            let client = try await confidentialClient(world)
            let error = await authError {
                try await AuthState.present(password(), as: client, store: TestStore(), environment: world.environment)
            }
            #expect(error?.code == .invalidIDToken)
        }
    }

    @Test func `a token endpoint without other metadata is enough`() async throws {
        try await World.run { world in
            let provider = try ProviderMetadata(tokenEndpoint: world.provider.url(.token))
            let client = Client(
                id: "demo-confidential",
                authentication: .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")),
                provider: provider)
            let state = try await AuthState.present(
                password(), as: client, store: TestStore(), environment: world.environment)
            // The metadata has no keys for an ID token.
            #expect(await state.record.idToken == nil)
            _ = try await state.freshAccessToken()
            #expect(world.provider.log.map(\.endpoint) == [.token])
        }
    }

    @Test(arguments: ["http://provider.example/token", "token", "ftp://127.0.0.1/token"])
    func `a token endpoint that is not safe is refused`(url: String) {
        #expect(throws: AuthError.self) { try ProviderMetadata(tokenEndpoint: url) }
    }

    @Test(arguments: TokenGrant.reservedParameters.sorted())
    func `a parameter that the library sets is rejected`(name: String) throws {
        #expect(throws: AuthError.self) { try TokenGrant.clientCredentials(parameters: [name: Secret("x")]) }
        _ = try TokenGrant.clientCredentials(parameters: [name + "s": Secret("x")])
    }

    @Test func `a scope that none can be is refused`() throws {
        #expect(throws: AuthError.self) { try TokenGrant.clientCredentials(scope: ["a b"]) }
        _ = try TokenGrant.clientCredentials(scope: ["a.b"])
    }

    @Test func `an extension grant goes out with its parameters`() async throws {
        try await World.run { world in
            let client = try await service(world)
            let grant = try TokenGrant(
                .jwtBearer, scope: ["api"], resources: ["https://api.example/"],
                parameters: ["assertion": Secret("e30.e30.AA")])
            let error = await authError {
                try await AuthState.present(grant, as: client, store: TestStore(), environment: world.environment)
            }
            #expect(error?.code == "unsupported_grant_type" || error?.code == "unauthorized_client")
            let sent = try #require(world.provider.log(.token).first)
            #expect(
                String(decoding: sent.body, as: UTF8.self)
                    == "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=e30.e30.AA&scope=api"
                    + "&resource=https%3A%2F%2Fapi.example%2F")
        }
    }
}

/// A store that counts its reads and checks, and may have no room for a session.
private struct ReadCounter: TokenStore {
    let base: TestStore
    var isFull = false
    let reads = LockedValue(0)
    let checks = LockedValue(0)

    var location: String { base.location }

    func load(_ call: TokenStoreCall) async throws -> AuthStateRecord? {
        reads.withLock { $0 += 1 }
        return try await base.load(call)
    }

    func prepare() async throws {
        checks.withLock { $0 += 1 }
        if isFull { throw TestStore.Refusal() }
    }

    func update<Result: Sendable>(
        _ call: TokenStoreCall, _ change: @escaping @Sendable (inout AuthStateRecord?) throws -> Result
    ) async throws -> Result { try await base.update(call, change) }

    func refreshLock(_ call: TokenStoreCall) async throws -> RefreshLock { try await base.refreshLock(call) }
}
