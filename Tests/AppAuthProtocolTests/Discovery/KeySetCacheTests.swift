import AppAuthProtocol
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// OpenID Connect Core §10.1.1, RFC 7517 §5.
@Suite(.timeLimit(.minutes(5)))
struct KeySetCacheTests {
    // oidcc-client-test-discovery-jwks-uri-keys
    @Test func `keys are fetched once and kept for as long as they say`() async throws {
        try await World.run { world in
            let cache = try cache(world)
            #expect(try await cache.keys().jwks.keys.count == 4)
            world.clock.advance(by: 3599)
            _ = try await cache.keys()
            #expect(world.provider.count(.keys) == 1)
            world.clock.advance(by: 1)
            _ = try await cache.keys()
            #expect(world.provider.count(.keys) == 2)
        }
    }

    @Test func `a forced refetch is made once a minute at most`() async throws {
        try await World.run { world in
            let cache = try cache(world)
            _ = try await cache.keys()
            #expect(try await cache.refetch() != nil)
            #expect(world.provider.count(.keys) == 2)
            world.clock.advance(by: 59)
            #expect(try await cache.refetch() == nil)
            #expect(world.provider.count(.keys) == 2)
            world.clock.advance(by: 1)
            #expect(try await cache.refetch() != nil)
            #expect(world.provider.count(.keys) == 3)
        }
    }

    @Test func `a refetch that fails counts too, and the keys at hand stay`() async throws {
        try await World.run { world in
            let cache = try cache(world)
            _ = try await cache.keys()
            world.provider.fault(.status(.internalServerError), at: .keys)
            let error = try #require(await authError { try await cache.refetch() })
            #expect(error.stage == .keys)
            #expect(error.isTemporary)
            #expect(try await cache.refetch() == nil)
            #expect(try await cache.keys().jwks.keys.count == 4)
            #expect(world.provider.count(.keys) == 2)
        }
    }

    @Test func `callers at the same time share one refetch`() async throws {
        try await World.run { world in
            let cache = try cache(world)
            let hold = world.provider.hold(.keys)
            let callers = (0..<50).map { _ in Task { try await cache.refetch() != nil } }
            try await hold.arrived()
            // These come while it is under way: they get its keys too.
            let later = (0..<50).map { _ in Task { try await cache.refetch() != nil } }
            try await waitUntil { cache.waitingCount >= callers.count + later.count }
            hold.release()
            for caller in callers + later { #expect(try await caller.value) }
            #expect(world.provider.count(.keys) == 1)
        }
    }

    @Test func `stored keys need no request until they expire`() async throws {
        try await World.run { world in
            let first = try cache(world)
            _ = try await first.keys()
            let second = try cache(world, first.entry)
            #expect(try await second.keys().jwks.keys.count == 4)
            #expect(world.provider.count(.keys) == 1)
            world.clock.advance(by: 3600)
            _ = try await second.keys()
            #expect(world.provider.count(.keys) == 2)
        }
    }

    @Test(
        arguments: [
            (Fault.status(.notFound), false), (.htmlPage, false), (.redirect(to: "https://op.example/jwks"), false),
            (.editDocument { $0["keys"] = nil }, false), (.editDocument { $0["keys"] = "a" }, false),
            (.oversize(bytes: (512 << 10) + 1), false), (.editDocument { $0["keys"] = [] }, true),
            (.editDocument { $0["keys"] = [1, "a", ["kty": "none"]] }, true),
        ] as [(Fault, Bool)])
    func `a response that is no key set is refused; keys that are not known are passed over`(
        fault: Fault, isTaken: Bool
    ) async throws {
        try await World.run { world in
            let cache = try cache(world)
            world.provider.fault(fault, at: .keys)
            let error = await authError { try await cache.keys() }
            #expect((error == nil) == isTaken)
            #expect(error?.code == (isTaken ? nil : .invalidResponse))
        }
    }

    private func cache(_ world: World, _ entry: KeySetCache.Entry? = nil) throws -> KeySetCache {
        KeySetCache(url: try SecureURL(world.provider.url(.keys)), environment: world.environment, entry: entry)
    }
}
