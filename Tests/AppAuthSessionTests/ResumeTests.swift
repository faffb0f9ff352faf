import AppAuth
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import TestFixtures
import Testing

/// When a stored session is restored, and when the user must sign in again.
struct ResumeTests {
    @Test func `a usable session is restored without a request`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            let requests = world.provider.log.count
            let state = try await signIn(world).restoreOrSignIn(store: MemoryTokenStore(record))
            #expect(await state.record == record)
            #expect(world.provider.log.count == requests)
        }
    }

    @Test func `a session of another client or issuer, or none, means a new sign-in`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            var other = try signIn(world)
            other.clientID = "other"
            #expect(await beginsAnew(other, record))
            #expect(await beginsAnew(try signIn(world), nil))
            #expect(await !beginsAnew(try signIn(world), record))
        }
    }

    /// RFC 6749 §2.2: a client identifier is compared exactly, not by canonical equivalence as Swift compares strings.
    @Test func `a session of a client whose name only looks the same means a new sign-in`() async throws {
        try await World.run { world in
            var record = try await world.signIn().record
            record.client = Client(id: "caf\u{E9}", provider: record.client.provider)
            var signIn = try signIn(world)
            signIn.clientID = "cafe\u{301}"
            #expect(await beginsAnew(signIn, record))
            signIn.clientID = "caf\u{E9}"
            #expect(await !beginsAnew(signIn, record))
        }
    }

    @Test func `the rules for ID tokens that the app has now replace the stored ones`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            var signIn = try signIn(world)
            signIn.idTokenRules.trustedAudiences = ["project"]
            let state = try #require(try await signIn.restore(store: store))
            _ = try await state.freshAccessToken(forceRefresh: true)
            #expect(await store.record?.client.idTokenRules == signIn.idTokenRules)
        }
    }

    @Test func `a session that has ended means a new sign-in`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            #expect(await !beginsAnew(try signIn(world), state.record))
            try await state.forget()
            #expect(await beginsAnew(try signIn(world), state.record))
        }
    }

    @Test func `a session without a refresh token means a new sign-in when its token has expired`() async throws {
        try await World.run { world in
            let record = try await world.signIn(scope: [.openID]).record
            #expect(!record.hasRefreshToken)
            #expect(await !beginsAnew(try signIn(world), record))
            world.clock.advance(by: 3600)
            #expect(await beginsAnew(try signIn(world), record))
        }
    }

    @Test func `a session of the client's own credentials means a new sign-in`() async throws {
        try await World.run { world in
            let secret = try #require(RegisteredClient.demoService.secret.map { Secret($0) })
            let service = try await world.client("demo-service", .clientSecretBasic(secret))
            let record = try await AuthState.present(
                .clientCredentials(), as: service, store: MemoryTokenStore(), environment: world.environment
            ).record
            var signIn = try signIn(world)
            signIn.clientID = "demo-service"
            #expect(await beginsAnew(signIn, record))
        }
    }

    @Test func `the app's own metadata replaces what is stored`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            var changed = try signIn(world)
            changed.provider = try ProviderMetadata(
                issuer: Issuer(world.provider.issuer),
                endpoints: [.token: "https://token.example/new", .keys: "https://keys.example/new"])
            let state = try await changed.restoreOrSignIn(store: MemoryTokenStore(record))
            #expect(await state.record.client.provider == changed.provider)
            #expect(record.keys != nil)
            #expect(await state.record.keys == nil)
        }
    }

    @Test func `the app's own metadata replaces what is stored for a registered client`() async throws {
        try await World.run { world in
            let registered = try await world.register(World.clientMetadata).client(at: world.metadata())
            let record = try await world.signIn(registered).record
            var changed = try signIn(world)
            changed.clientID = record.client.id
            changed.provider = try ProviderMetadata(
                issuer: Issuer(world.provider.issuer),
                endpoints: [.token: "https://token.example/new", .keys: "https://keys.example/new"])
            let state = try #require(try await changed.restore(store: MemoryTokenStore(record)))
            #expect(await state.record.client.provider == changed.provider)
            #expect(await state.record.client.registration == record.client.registration)
        }
    }

    @Test func `a changed client secret is used from now on`() async throws {
        try await World.run { world in
            let record = try await world.signIn().record
            var changed = try signIn(world)
            changed.clientSecret = Secret("changed")
            let state = try await changed.restoreOrSignIn(store: MemoryTokenStore(record))
            #expect(await state.record.client.authentication == .clientSecretBasic(Secret("changed")))
        }
    }

    /// A new sign-in ends at an endpoint that no provider has.
    private func signIn(_ world: World) throws -> SignIn {
        var signIn = try SignIn(
            issuer: Issuer(world.provider.issuer), clientID: "demo", appName: "Test", environment: world.environment)
        signIn.browser = nil
        signIn.requiredEndpoints = [.init(rawValue: "no_such_endpoint")]
        return signIn
    }

    private func beginsAnew(_ signIn: SignIn, _ record: AuthStateRecord?) async -> Bool {
        await authError { try await signIn.restoreOrSignIn(store: MemoryTokenStore(record)) }?.code == .invalidMetadata
    }
}
