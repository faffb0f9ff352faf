import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// A sent change of the registration revokes the earlier token (RFC 7592 §2.2): its response is not lost.
@Suite(.timeLimit(.minutes(5)))
struct RegistrationChangeTests {
    private func withSession(
        _ configuration: LocalProvider.Configuration = .demo,
        sleep: @escaping @Sendable () async -> Void = {},
        _ body: (World, TestStore, AuthState) async throws -> Void
    ) async throws {
        try await World.run(configuration) { world in
            let store = TestStore()
            _ = try await world.signIn(world.registerWithSecret().client(at: world.metadata()), store: store)
            var environment = world.environment
            environment.sleep = { _ in await sleep() }
            try await body(world, store, #require(try await AuthState(restoring: store, environment: environment)))
        }
    }

    /// Another process reads the registration with the token that is stored.
    private func readElsewhere(_ world: World, _ store: TestStore) async throws -> ClientRegistration {
        try await #require(try await AuthState(restoring: store, environment: world.environment)).registration()
    }

    @Test func `a cancelled caller leaves at once, and the sent change is finished and stored`() async throws {
        try await withSession { world, store, state in
            let hold = world.provider.hold(.clientConfiguration)
            let updating = Task { try await state.updateRegistration { $0.clientName = "Renamed" } }
            try await world.provider.requests(1, at: .clientConfiguration)
            updating.cancel()
            await #expect(throws: CancellationError.self) { try await updating.value }
            let settling = Task { await state.settle(atMost: .seconds(60)) }
            hold.release()
            await settling.value
            #expect(await store.record?.client.registration?.metadata.clientName == "Renamed")
            #expect(try await readElsewhere(world, store).metadata.clientName == "Renamed")
        }
    }

    @Test func `a deletion that was sent ends the session, though its caller is cancelled`() async throws {
        try await withSession { world, store, state in
            let hold = world.provider.hold(.clientConfiguration)
            let deleting = Task { try await state.deleteRegistration() }
            try await world.provider.requests(1, at: .clientConfiguration)
            deleting.cancel()
            await #expect(throws: CancellationError.self) { try await deleting.value }
            let settling = Task { await state.settle(atMost: .seconds(60)) }
            hold.release()
            await settling.value
            #expect(await store.record == nil)
        }
    }

    @Test func `a registration that the store rejected is stored after a while without a call`() async throws {
        let (ticks, tick) = AsyncStream.makeStream(of: Void.self)
        try await withSession(sleep: { for await _ in ticks { return } }) { world, store, state in
            let hold = world.provider.hold(.clientConfiguration)
            let updating = Task { await authError { try await state.updateRegistration { $0.clientName = "Renamed" } } }
            try await world.provider.requests(1, at: .clientConfiguration)
            let changes = state.changes
            await store.refuse(with: AuthError(.store, .store, "the disk is full"))
            hold.release()
            #expect(await updating.value?.code == .store)
            #expect(await state.hasUnsavedTokens)
            // The next request needs the token of the new one.
            #expect(await state.record.client.registration?.metadata.clientName == "Renamed")
            await store.refuse(with: nil)
            tick.yield()
            try await waitUntil { await !state.hasUnsavedTokens }
            #expect(await store.record?.client.registration?.metadata.clientName == "Renamed")
            #expect(try await readElsewhere(world, store).metadata.clientName == "Renamed")
            // The sign-out is only the second change.
            try await state.forget()
            let first = await changes.first { _ in true }
            guard case .storeFailed(let error) = first else {
                Issue.record("expected the refusal of the store, found \(String(describing: first))")
                return
            }
            #expect(error.message.contains("the disk is full"))
        }
    }

    @Test func `the registration of a session that has ended is stored, too`() async throws {
        try await withSession { world, store, state in
            world.provider.fault(.status(.badRequest, json: ["error": "invalid_grant"]), at: .token)
            #expect(await authError { try await state.freshAccessToken(forceRefresh: true) }?.code == .signInRequired)
            let read = try await state.registration()
            #expect(await store.record?.client.registration == read)
        }
    }

    @Test(arguments: [true, false])
    func `a response that is no JSON loses no token`(rotates: Bool) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.registration?.rotatesAccessTokens = rotates
        try await withSession(configuration) { world, store, state in
            let before = try #require(await store.record?.client.registration)
            let page = Reply(.ok, type: "text/html; charset=utf-8", "<!doctype html><title>Welcome</title>")
            world.provider.fault(.respondAfterwards(page), at: .clientConfiguration)
            #expect(
                await authError { try await state.updateRegistration { $0.clientName = "x" } }?.code == .invalidResponse
            )
            #expect(await store.record?.client.registration == before)
            // A provider that has changed the token with that response takes it back; another takes it again.
            let error = await authError { try await state.registration() }
            #expect((error == nil) != rotates, "\(error as Any)")
        }
    }
}
