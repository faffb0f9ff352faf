import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import AppAuthTestProvider
import HTTPTypes
import TestFixtures
import Testing

/// A loop over ``AuthState/accessTokens``.
@Suite(.timeLimit(.minutes(2)))
struct AccessTokensTests {
    /// Restores a session whose pauses only advance the clock of the test.
    ///
    /// - Parameter pause: Called at each pause, before it.
    private func restored(
        _ world: World, from store: any TokenStore, pause: @escaping @Sendable (Duration) async throws -> Void
    ) async throws -> AuthState {
        var environment = world.environment
        environment.sleep = { [clock = world.clock] duration in
            try Task.checkCancellation()
            try await pause(duration)
            clock.advance(by: duration.seconds)
        }
        return try #require(try await AuthState(restoring: store, environment: environment))
    }

    @Test func `each token comes before the one before it has expired, and none is polled for`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            let pauses = LockedValue(0)
            let state = try await restored(world, from: store) { pause in
                // Not the limit for the verification of an ID token.
                if pause > .seconds(60) { pauses.withLock { $0 += 1 } }
            }
            var tokens: [AccessToken] = []
            for try await token in state.accessTokens {
                if let last = tokens.last { #expect(!last.isExpired(at: world.clock.timestamp)) }
                tokens.append(token)
                if tokens.count == 4 { break }
            }
            #expect(Set(tokens.map(\.value)).count == 4 && world.provider.count(.token) == 4)
            #expect(pauses.withLock { $0 } == 3)
        }
    }

    @Test func `a provider that fails for a while is asked again after the pauses, and the loop goes on`() async throws
    {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            let pauses = LockedValue<[Duration]>([])
            let state = try await restored(world, from: store) { pause in
                let count = pauses.withLock { pauses in
                    pauses.append(pause)
                    return pauses.count
                }
                if count == 12 { world.provider.clearFaults() }
            }
            world.clock.advance(by: 3600)
            world.provider.fault(.status(.internalServerError), at: .token, times: nil)
            for try await token in state.accessTokens {
                #expect(!token.isExpired(at: world.clock.timestamp))
                break
            }
            #expect(pauses.withLock { $0.allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(60) } })
            // Each pause ends with at most one request.
            #expect(world.provider.count(.token) <= 2 + 12)
        }
    }

    @Test func `the end of the session ends the loop with its error`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            let state = try await restored(world, from: store) { _ in
                guard let token = await store.record?.refreshToken else { return }
                world.provider.revokeGrant(of: token.reveal())
            }
            var count = 0
            let error = await authError { for try await _ in state.accessTokens { count += 1 } }
            #expect(count == 1 && error?.code == .signInRequired && error?.needsSignIn == true)
        }
    }

    @Test func `a token that another caller has renewed comes at once, to each loop`() async throws {
        try await World.run { world in
            let store = TestStore()
            _ = try await world.signIn(store: store)
            var environment = world.environment
            environment.sleep = { _ in try await Task.sleep(for: .seconds(3600)) }
            let state = try #require(try await AuthState(restoring: store, environment: environment))
            let (arrivals, arrival) = AsyncStream.makeStream(of: Secret.self)
            let loops = (0..<2).map { _ in
                Task { for try await token in state.accessTokens { arrival.yield(token.value) } }
            }
            var iterator = arrivals.makeAsyncIterator()
            let first = [await iterator.next(), await iterator.next()]
            let renewed = try await state.freshAccessToken(forceRefresh: true).value
            let second = [await iterator.next(), await iterator.next()]
            #expect(first[0] == first[1] && first[0] != renewed && second == [renewed, renewed])
            for loop in loops { loop.cancel() }
            for loop in loops { await #expect(throws: CancellationError.self) { try await loop.value } }
            #expect(world.provider.count(.token) == 2)
        }
    }
}
