import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import HTTPTypes
import TestFixtures
import Testing

/// One refresh at a time, shared by all callers.
@Suite(.timeLimit(.minutes(5)))
struct RefreshSharingTests {
    @Test func `ten thousand callers make one request, and get one token`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.clock.advance(by: 3600)
            let hold = world.provider.hold(.token)
            let callers = (0..<10_000).map { _ in Task { try await state.freshAccessToken() } }
            try await hold.arrived()
            try await waitUntil { state.waitingCount >= callers.count }
            hold.release()
            var tokens: Set<AccessToken> = []
            for caller in callers { tokens.insert(try await caller.value) }
            #expect(tokens.count == 1)
            #expect(world.provider.count(.token) == 2)
            #expect(await store.saves == 3)
        }
    }

    @Test func `a caller that comes just after the end of a refresh does not begin another`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            // A crowd: some find the old token, and reach the shared refresh only when it is over.
            for round in 1...5 {
                world.clock.advance(by: 3600)
                try await withThrowingTaskGroup { group in
                    for _ in 0..<5000 { group.addTask { _ = try await state.freshAccessToken() } }
                    try await group.waitForAll()
                }
                #expect(world.provider.count(.token) == 1 + round)
                #expect(await store.saves == 1 + 2 * round)
            }
        }
    }

    @Test(arguments: [true, false], [true, false])
    func `callers with other requirements do not share the result of the usual ones`(
        isUsualFirst: Bool, isForced: Bool
    ) async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let old = try await state.freshAccessToken()
            // 30 seconds are left: the token has to be refreshed, and is better than an error.
            world.clock.advance(by: 3570)
            world.provider.fault(.status(.internalServerError), at: .token)
            let hold = world.provider.hold(.token)
            let usual: @Sendable () async throws -> AccessToken = { try await state.freshAccessToken() }
            let other: @Sendable () async throws -> AccessToken = {
                try await state.freshAccessToken(
                    minimumValidity: isForced ? nil : .seconds(300), forceRefresh: isForced)
            }
            let first = Task(operation: isUsualFirst ? usual : other)
            try await hold.arrived()
            // After this one, usual callers join without looking at the token.
            let joined = Task(operation: isUsualFirst ? usual : other)
            try await waitUntil { state.waitingCount == 2 }
            let second = Task(operation: isUsualFirst ? other : usual)
            try await waitUntil { state.waitingCount == 3 }
            hold.release()
            // The first refresh fails, the second succeeds.
            for task in [first, joined] {
                if isUsualFirst {
                    #expect(try await task.value == old)
                } else {
                    await #expect(throws: AuthError.self) { try await task.value }
                }
            }
            #expect(try await second.value != old)
            #expect(world.provider.count(.token) == 3)
        }
    }

    @Test func `callers that force a refresh at the same time share it too`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            let hold = world.provider.hold(.token)
            let callers = (0..<50).map { _ in Task { try await state.freshAccessToken(forceRefresh: true) } }
            try await hold.arrived()
            try await waitUntil { state.waitingCount >= callers.count }
            hold.release()
            for caller in callers { _ = try await caller.value }
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a waiting caller that is cancelled leaves at once, and the others get their token`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.advance(by: 3600)
            let hold = world.provider.hold(.token)
            let first = Task { try await state.freshAccessToken() }
            try await hold.arrived()
            let second = Task { try await state.freshAccessToken() }
            try await waitUntil { state.waitingCount == 2 }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            hold.release()
            let token = try await second.value
            #expect(world.provider.isAlive(token.value.reveal()))
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `when the last caller is cancelled the refresh ends, and is stored`() async throws {
        try await World.run { world in
            let store = TestStore()
            let state = try await world.signIn(store: store)
            world.clock.advance(by: 3600)
            let hold = world.provider.hold(.token)
            let only = Task { try await state.freshAccessToken() }
            try await hold.arrived()
            only.cancel()
            await #expect(throws: CancellationError.self) { try await only.value }
            hold.release()
            try await store.begun(3)
            let token = try await state.freshAccessToken()
            #expect(await store.record?.accessToken == token)
            #expect(world.provider.isAlive(token.value.reveal()))
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `a failed refresh fails for all waiting callers, and the next call tries again`() async throws {
        try await World.run { world in
            let state = try await world.signIn()
            world.clock.advance(by: 3600)
            world.provider.fault(.unavailable(retryAfter: 5), at: .token)
            let hold = world.provider.hold(.token)
            let callers = (0..<10_000).map { _ in Task { await authError { try await state.freshAccessToken() } } }
            try await hold.arrived()
            try await waitUntil { state.waitingCount >= callers.count }
            hold.release()
            var waits: Set<Int?> = []
            for caller in callers { waits.insert(await caller.value?.retryAfter) }
            #expect(waits == [5])
            #expect(world.provider.count(.token) == 2)
            world.clock.advance(by: 5)
            _ = try await state.freshAccessToken()
            #expect(world.provider.count(.token) == 3)
        }
    }
}
