import AppAuthProtocol
import AppAuthSession
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// The changes that subscribers of a session receive.
@Suite(.timeLimit(.minutes(5)))
struct ChangesTests {
    @Test func `every subscriber gets all changes from its subscription on`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let early = state.changes
            _ = try await state.freshAccessToken(forceRefresh: true)
            let late = state.changes
            world.provider.fault(.status(.internalServerError), at: .token)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            world.clock.advance(by: 1)
            await store.refuse(with: TestStore.Refusal(), after: 1)
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }
            await store.refuse(with: nil)
            _ = try await state.freshAccessToken()
            world.provider.revokeGrant(of: try #require(await state.record.refreshToken).reveal())
            _ = await authError { try await state.freshAccessToken(forceRefresh: true) }

            let after = ["failed 500", "not stored", "renewed", "ended"]
            #expect(await names(early, 5) == ["renewed"] + after)
            #expect(await names(late, 4) == after)
            // The log has the changes too, each at its level.
            let expected = [
                "info session: there are new tokens", "notice session: the refresh failed: ",
                "error session: new tokens are not stored: ", "info session: there are new tokens",
                "notice session: ended: ",
            ]
            let lines = world.log.lines.filter { $0.contains("session: ") }.suffix(expected.count)
            #expect(zip(lines, expected).filter { $0.hasPrefix($1) }.count == expected.count, "\(lines)")
        }
    }

    @Test func `tokens from another process are reported too`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            world.clock.advance(by: 3600)
            let changes = second.changes
            let token = try await first.freshAccessToken()
            _ = try await second.freshAccessToken()
            for await case .renewed(let record) in changes {
                #expect(record.accessToken == token)
                break
            }
        }
    }

    @Test func `an end that another process stored is reported when it is found`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            let changes = second.changes
            world.provider.revokeGrant(of: try #require(await first.record.refreshToken).reveal())
            _ = await authError { try await first.freshAccessToken(forceRefresh: true) }
            // A sign-out reads the store before it revokes.
            #expect(await second.revokeTokens().isEmpty)
            for await change in changes {
                guard case .ended(let end) = change else { continue }
                #expect(end.reason.contains("invalid_grant"))
                break
            }
        }
    }

    @Test func `reading the store reports the changes of another process, and sends nothing`() async throws {
        try await World.run { world in
            let store = TestStore()
            let first = try await world.signIn(store: store)
            let second = try #require(await AuthState(restoring: store, environment: world.environment))
            let changes = second.changes
            let loads = await store.unattendedLoads
            try await second.synchronize()
            let token = try await first.freshAccessToken(forceRefresh: true)
            let sent = world.provider.count(.token)
            try await second.synchronize()
            #expect(try await second.freshAccessToken() == token)
            try await first.forget()
            await store.refuse(with: TestStore.Refusal(), after: 0)
            #expect(await authError { try await second.synchronize() }?.code == .store)
            #expect(await second.isAuthorized)
            await store.refuse(with: nil)
            try await second.synchronize()
            try await second.synchronize()
            #expect(await !second.isAuthorized)
            #expect(await names(changes, 2) == ["renewed", "ended"])
            #expect(world.provider.count(.token) == sent)
            #expect(await store.unattendedLoads == loads + 5)
            #expect(await authError { try await second.freshAccessToken() }?.code == .signInRequired)
        }
    }

    @Test func `reading the store reports another user's sign-in as the end, and the same user's not`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            let changes = state.changes
            let sameUser = try await world.signIn().record
            await store.put(sameUser)
            try await state.synchronize()
            #expect(await state.isAuthorized)
            let foreign = try AuthStateRecord(
                client: sameUser.client, accessToken: nil, refreshToken: Secret("foreign"))
            await store.put(foreign)
            try await state.synchronize()
            #expect(await !state.isAuthorized)
            #expect(await names(changes, 1) == ["ended"])
        }
    }

    @Test func `a sign-out is reported once, with its reason`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let changes = state.changes
            try await state.forget()
            try await state.forget()
            _ = await authError { try await state.freshAccessToken() }
            _ = try await world.signIn(store: TestStore())
            var reasons: [String] = []
            for await change in changes {
                if case .ended(let end) = change { reasons.append(end.reason) }
                break
            }
            #expect(reasons == ["signed out"])
        }
    }

    @Test func `a stream ends with its session`() async throws {
        try await World.run { world in
            var state: AuthState? = try await world.signIn()
            let changes = try #require(state?.changes)
            state = nil
            for await _ in changes {}
            #expect(state == nil)
        }
    }

    private func names(_ changes: AsyncStream<SessionChange>, _ count: Int) async -> [String] {
        var names: [String] = []
        for await change in changes {
            switch change {
            case .renewed: names.append("renewed")
            case .ended: names.append("ended")
            case .refreshFailed(let error): names.append("failed \(error.httpStatus ?? 0)")
            case .storeFailed: names.append("not stored")
            }
            if names.count == count { break }
        }
        return names
    }
}
