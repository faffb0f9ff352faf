import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// Tokens of a sign-in that fails after they have come: no session holds them, so they are revoked.
@Suite(.timeLimit(.minutes(5)))
struct UnusedTokensTests {
    private struct Refusal: Error {}

    private func signIn(
        store: TestStore = TestStore(), confirm: @escaping @Sendable (AuthState) async throws -> Void = { _ in },
        _ body: (World, Result<AuthState, any Error>) async throws -> Void
    ) async throws {
        try await World.run { world in
            let response = try await world.authorize(try await world.client())
            let result: Result<AuthState, any Error>
            do {
                result = .success(
                    try await AuthState.exchange(
                        response, store: store, environment: world.environment, confirm: confirm))
            } catch { result = .failure(error) }
            try await body(world, result)
        }
    }

    private func revoked(_ world: World) -> [String?] {
        world.provider.log(.revocation).map { $0.form["token_type_hint"] }
    }

    @Test func `if the store rejects the session, its tokens are revoked`() async throws {
        let store = TestStore()
        await store.hold()
        await store.failHeld()
        async let released: Void = {
            try await store.begun(1)
            await store.release()
        }()
        try await signIn(store: store) { world, result in
            #expect(throws: AuthError.self) { try result.get() }
            #expect(revoked(world) == ["refresh_token", "access_token"])
            // Before the sign-in, and now: the user may have dismissed a prompt of the store a moment ago.
            #expect(await store.unattendedLoads == 2)
        }
        try await released
    }

    @Test func `if the last step fails, the tokens obtained by then are revoked`() async throws {
        let tokens = MemoryTokenStore()
        try await signIn(confirm: { state in
            _ = try await state.freshAccessToken(forceRefresh: true)
            try await tokens.replace(with: await state.record)
            throw Refusal()
        }) { world, result in
            #expect(throws: Refusal.self) { try result.get() }
            let latest = try #require(await tokens.load())
            #expect(
                world.provider.log(.revocation).map { $0.form["token"] }
                    == [latest.refreshToken?.reveal(), latest.accessToken?.value.reveal()])
        }
    }

    /// That user may have another session, which a revocation could end.
    @Test func `if the last step refuses the user, nothing is revoked`() async throws {
        try await signIn(confirm: { _ in throw AuthError(.sessionReplaced, .store, "another user") }) { world, result in
            #expect(throws: AuthError.self) { try result.get() }
            #expect(revoked(world).isEmpty)
        }
    }

    /// An app may throw an error of the library, for example of the claims, which is none of the sign-in's ID token.
    @Test func `an error of the last step about an ID token is no rejected ID token`() async throws {
        try await signIn(confirm: { _ in throw AuthError(.invalidResponse, .idToken, "no employee") }) {
            world, result in
            #expect(throws: AuthError.self) { try result.get() }
            #expect(revoked(world) == ["refresh_token", "access_token"])
        }
    }

    @Test func `a session that ends in the last step is not stored`() async throws {
        let store = TestStore()
        try await signIn(store: store, confirm: { try await $0.forget() }) { world, result in
            let error = #expect(throws: AuthError.self) { try result.get() }
            #expect(error?.code == .signInRequired)
            #expect(await store.record == nil)
        }
    }

    // RFC 6749 §7.1: a response that cannot be used may have brought a valid refresh token.
    @Test(arguments: ["token_type", "expires_in"])
    func `the refresh token of a response that is refused is revoked`(member: String) async throws {
        try await World.run { world in
            let response = try await world.authorize(try await world.client())
            world.provider.fault(.editDocument { $0[member] = "mac" }, at: .token)
            let error = await authError {
                try await AuthState.exchange(response, store: TestStore(), environment: world.environment)
            }
            #expect(error?.code == .invalidResponse)
            #expect(revoked(world) == ["refresh_token"])
            let token = try #require(world.provider.log(.revocation).first?.form["token"])
            #expect(!world.provider.isAlive(token))
        }
    }

    @Test func `a refresh that the last step leaves behind is waited for`() async throws {
        try await World.run { world in
            let response = try await world.authorize(try await world.client())
            let state = try await AuthState.exchange(response, store: TestStore(), environment: world.environment) {
                state in
                let hold = world.provider.hold(.token, before: .response)
                let task = Task { try await state.freshAccessToken(forceRefresh: true) }
                try await hold.arrived()
                task.cancel()
                _ = try? await task.value
                Task {
                    for _ in 0..<100 { await Task.yield() }
                    hold.release()
                }
            }
            #expect(world.provider.isAlive(try #require(await state.record.refreshToken).reveal()))
        }
    }

    @Test func `a sign-in that is cancelled after the exchange revokes its tokens`() async throws {
        try await World.run { world in
            let response = try await world.authorize(try await world.client())
            let hold = world.provider.hold(.keys, before: .request)
            let task = Task {
                try await AuthState.exchange(response, store: TestStore(), environment: world.environment)
            }
            try await hold.arrived()
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            #expect(revoked(world) == ["refresh_token", "access_token"])
            hold.release()
        }
    }

    @Test func `if a session is stored, nothing is revoked, since that could end it`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let response = try await world.authorize(try await world.client())
            await #expect(throws: Refusal.self) {
                try await AuthState.exchange(response, store: store, environment: world.environment) { _ in
                    throw Refusal()
                }
            }
            #expect(revoked(world).isEmpty)
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test func `without a failure nothing is revoked, and a replaced session keeps its tokens`() async throws {
        try await World.run { world in
            let store = TestStore()
            let old = try #require(await world.signIn(store: store).record.refreshToken)
            _ = try await world.signIn(store: store)
            #expect(revoked(world).isEmpty && world.provider.isAlive(old.reveal()))
        }
    }

    enum Owner: CaseIterable, CustomStringConvertible {
        case anotherUser, anotherUserOfAnotherClient
        var description: String { self == .anotherUser ? "another user" : "another user of another client" }
    }

    static let bob = LocalProvider.User(name: "bob", password: "builder")

    static var configuration: LocalProvider.Configuration {
        var configuration = LocalProvider.Configuration.demo
        configuration.users = [.alice, bob]
        configuration.clients.append(.init(id: "other", redirectURIs: [.anyLoopback]))
        return configuration
    }

    /// Signs alice in, and then a user whose grant the revocation of alice's tokens cannot end.
    private func signInInTurn(
        _ owner: Owner, confirm: @escaping @Sendable (AuthState) async throws -> Void = { _ in },
        _ body: (World, _ old: AuthStateRecord, TestStore, Result<AuthState, any Error>) async throws -> Void
    ) async throws {
        try await World.run(Self.configuration) { world in
            let store = TestStore()
            let old = try await world.signIn(store: store).record
            let client = try await world.client(owner == .anotherUser ? "demo" : "other")
            let response = try await world.authorize(client, as: Self.bob)
            let result: Result<AuthState, any Error>
            do {
                result = .success(
                    try await AuthState.exchange(
                        response, store: store, environment: world.environment, confirm: confirm))
            } catch { result = .failure(error) }
            try await body(world, old, store, result)
        }
    }

    /// Several providers give all clients of a project one grant.
    @Test func `if the same user signs in with another client, the replaced session keeps its tokens`() async throws {
        try await World.run(Self.configuration) { world in
            let store = TestStore()
            let old = try #require(await world.signIn(store: store).record.refreshToken)
            _ = try await world.signIn(try await world.client("other"), store: store)
            #expect(revoked(world).isEmpty && world.provider.isAlive(old.reveal()))
        }
    }

    private func revokedTokens(_ world: World) -> [String?] {
        world.provider.log(.revocation).map { $0.form["token"] }
    }

    @Test(arguments: Owner.allCases)
    func `the tokens of a replaced session are revoked if that cannot end the new one`(owner: Owner) async throws {
        try await signInInTurn(owner) { world, old, store, result in
            let state = try result.get()
            await state.settle()
            #expect(revokedTokens(world) == [old.refreshToken?.reveal(), old.accessToken?.value.reveal()])
            #expect(await store.record?.id == state.record.id)
            _ = try await state.freshAccessToken(forceRefresh: true)
        }
    }

    @Test(arguments: Owner.allCases)
    func `unused tokens are revoked if that cannot end the stored session`(owner: Owner) async throws {
        let unused = MemoryTokenStore()
        try await signInInTurn(owner) { state in
            try await unused.replace(with: await state.record)
            throw Refusal()
        } _: { world, old, store, result in
            #expect(throws: Refusal.self) { try result.get() }
            let tokens = try #require(await unused.load())
            #expect(revokedTokens(world) == [tokens.refreshToken?.reveal(), tokens.accessToken?.value.reveal()])
            #expect(await store.record?.id == old.id)
            #expect(world.provider.isAlive(try #require(old.refreshToken).reveal()))
        }
    }

    @Test(arguments: [true, false])
    func `tokens of a user who is not known are revoked only if no session is stored`(isStored: Bool) async throws {
        try await World.run(Self.configuration) { world in
            let store = TestStore()
            if isStored { _ = try await world.signIn(store: store) }
            let response = try await world.authorize(try await world.client(), as: Self.bob)
            world.provider.fault(.status(.serviceUnavailable), at: .keys, times: nil)
            let error = await authError {
                try await AuthState.exchange(response, store: store, environment: world.environment)
            }
            #expect(error?.isTemporary == true)
            #expect(revoked(world) == (isStored ? [] : ["refresh_token", "access_token"]))
        }
    }

    @Test func `a sign-in does not wait for the revocation of the session that it replaces`() async throws {
        try await World.run(Self.configuration) { world in
            let store = TestStore()
            let old = try #require(await world.signIn(store: store).record.refreshToken)
            let response = try await world.authorize(try await world.client(), as: Self.bob)
            let hold = world.provider.hold(.revocation)
            let state = try await AuthState.exchange(response, store: store, environment: world.environment)
            #expect(await store.record == state.record)
            try await hold.arrived()
            hold.release()
            await state.settle()
            #expect(revoked(world) == ["refresh_token", "access_token"] && !world.provider.isAlive(old.reveal()))
        }
    }

    /// A refresh is sent, and another sign-in replaces its session before the response.
    private func replaceDuringRefresh(
        by client: String, as user: LocalProvider.User, _ body: (World) async throws -> Void
    ) async throws {
        try await World.run(Self.configuration) { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let response = try await world.authorize(try await world.client(client), as: user)
            let new = try await AuthState.exchange(response, store: TestStore(), environment: world.environment).record
            let hold = world.provider.hold(.token)
            let caller = Task { await authError { try await state.freshAccessToken(forceRefresh: true) } }
            try await hold.arrived()
            try await store.replace(with: new)
            hold.release()
            #expect(await caller.value?.code == .sessionReplaced)
            #expect(await store.record == new)
            #expect(world.provider.isAlive(try #require(new.refreshToken).reveal()))
            try await body(world)
        }
    }

    @Test(arguments: Owner.allCases)
    func `the tokens of a refresh that comes after another user's sign-in are revoked`(owner: Owner) async throws {
        let client = owner == .anotherUser ? "demo" : "other"
        try await replaceDuringRefresh(by: client, as: Self.bob) { world in
            let tokens = revokedTokens(world).compactMap(\.self)
            #expect(revoked(world) == ["refresh_token", "access_token"])
            for token in tokens { #expect(!world.provider.isAlive(token)) }
            #expect(tokens.first != world.provider.log(.token).last?.form["refresh_token"])
        }
    }

    @Test func `the tokens of a refresh that comes after the same user's sign-in are kept`() async throws {
        try await replaceDuringRefresh(by: "other", as: .alice) { world in #expect(revoked(world).isEmpty) }
    }
}
