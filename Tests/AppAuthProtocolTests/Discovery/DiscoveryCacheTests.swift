import AppAuthProtocol
import HTTPTypes
import AppAuthTestProvider
import TestFixtures
import Testing

/// One document for many callers, for as long as its Cache-Control says, within five minutes and a day.
@Suite(.timeLimit(.minutes(5)))
struct DiscoveryCacheTests {
    @Test(
        arguments: [
            (nil, 86_400), ("max-age=3600", 3600), ("public, MAX-AGE=3600", 3600), ("max-age=1", 300),
            ("max-age=0", 300),
            ("max-age=999999999999999999999999", 86_400), ("max-age=864000", 86_400), ("no-store", 300),
            ("no-cache, max-age=3600", 300), ("max-age=x", 86_400), ("private", 86_400),
        ] as [(String?, Double)])
    func `a document is kept for as long as it says`(cacheControl: String?, lifetime: Double) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.metadataCacheControl = cacheControl
        try await World.run(configuration) { world in
            let discovery = Discovery(environment: world.environment)
            let first = try await discovery.metadata(for: Issuer(world.provider.issuer))
            world.clock.advance(by: lifetime - 1)
            #expect(try await discovery.metadata(for: Issuer(world.provider.issuer)) == first)
            #expect(world.provider.count(.openIDConfiguration) == 1)
            world.clock.advance(by: 1)
            _ = try await discovery.metadata(for: Issuer(world.provider.issuer))
            #expect(world.provider.count(.openIDConfiguration) == 2)
        }
    }

    @Test func `64 issuers are kept at most`() async throws {
        try await World.run { world in
            let discovery = Discovery(environment: world.environment)
            func find(_ path: String) async throws {
                _ = await authError { try await discovery.metadata(for: Issuer(world.provider.issuer + path)) }
            }
            for number in 0..<64 { try await find(number == 0 ? "" : "/\(number)") }
            let known = world.provider.count(.openIDConfiguration)
            try await find("")
            #expect(world.provider.count(.openIDConfiguration) == known)
            try await find("/64")
            let more = world.provider.count(.openIDConfiguration)
            try await find("")
            #expect(world.provider.count(.openIDConfiguration) == more + 1)
        }
    }

    @Test func `an error is not kept`() async throws {
        try await World.run { world in
            let discovery = Discovery(environment: world.environment)
            world.provider.fault(.status(.internalServerError), at: .openIDConfiguration)
            #expect(await authError { try await discovery.metadata(for: Issuer(world.provider.issuer)) } != nil)
            let metadata = try await discovery.metadata(for: Issuer(world.provider.issuer))
            #expect(metadata.issuer.string == world.provider.issuer)
        }
    }

    @Test func `callers at the same time share one request, and its error`() async throws {
        try await World.run { world in
            let discovery = Discovery(environment: world.environment)
            for status in [200, 500] {
                if status == 500 {
                    world.clock.advance(by: 86_400)
                    world.provider.fault(.status(.internalServerError), at: .openIDConfiguration)
                }
                let before = world.provider.count(.openIDConfiguration)
                let hold = world.provider.hold(.openIDConfiguration)
                let callers = (0..<100).map { _ in
                    Task { await authError { try await discovery.metadata(for: Issuer(world.provider.issuer)) } }
                }
                try await hold.arrived()
                try await waitUntil { try discovery.waitingCount(for: world.provider.issuer) >= callers.count }
                hold.release()
                for caller in callers { #expect(await caller.value?.httpStatus == (status == 200 ? nil : 500)) }
                #expect(world.provider.count(.openIDConfiguration) == before + 1)
            }
        }
    }

    @Test func `a caller that is cancelled leaves at once, and the others get their response`() async throws {
        try await World.run { world in
            let discovery = Discovery(environment: world.environment)
            let hold = world.provider.hold(.openIDConfiguration)
            let first = Task { try await discovery.metadata(for: Issuer(world.provider.issuer)) }
            try await hold.arrived()
            let second = Task { try await discovery.metadata(for: Issuer(world.provider.issuer)) }
            try await waitUntil { try discovery.waitingCount(for: world.provider.issuer) == 2 }
            first.cancel()
            await #expect(throws: CancellationError.self) { try await first.value }
            hold.release()
            #expect(try await second.value.issuer.string == world.provider.issuer)
            #expect(world.provider.count(.openIDConfiguration) == 1)
        }
    }
}
