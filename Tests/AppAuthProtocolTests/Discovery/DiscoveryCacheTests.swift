import AppAuthProtocol
import Foundation
import HTTPTypes
import JOSE
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

    /// Makes one provider many: the issuer with the path `/12` has the provider's metadata. `/none` has none.
    private struct Tenants: HTTPTransport {
        let provider: any HTTPTransport

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            var request = request
            let path = request.head.path ?? ""
            guard let end = path.range(of: "/.well-known"), Int(path[..<end.lowerBound].dropFirst()) != nil else {
                return try await provider.send(request)
            }
            request.head.path = String(path[end.lowerBound...])
            var response = try await provider.send(request)
            var document = try JSON(parsing: response.body).object ?? JSON.Object()
            document["issuer"] = document["issuer"]?.string.map { .string($0 + path[..<end.lowerBound]) }
            response.body = Array(JSON.object(document).serialized().utf8)
            return response
        }
    }

    // Resources and e-mail addresses name issuers too.
    @Test func `the metadata of 64 issuers is kept, and the first one fetched goes first`() async throws {
        try await World.run { world in
            var environment = world.environment
            environment.transport = Tenants(provider: environment.transport)
            let discovery = Discovery(environment: environment)
            func find(_ name: String, isKnown: Bool) async throws {
                let before = world.provider.log.count
                _ = await authError { try await discovery.metadata(for: Issuer(world.provider.issuer + "/" + name)) }
                #expect((world.provider.log.count == before) == isKnown, "\(name)")
                world.clock.advance(by: 1)
            }
            for number in 1...63 { try await find("\(number)", isKnown: false) }
            for number in 1...10 { try await find("none\(number)", isKnown: false) }
            try await find("1", isKnown: true)
            try await find("64", isKnown: false)
            for name in ["1", "64"] { try await find(name, isKnown: true) }
            try await find("65", isKnown: false)
            for name in ["2", "65"] { try await find(name, isKnown: true) }
            try await find("1", isKnown: false)
        }
    }

    @Test func `an error is not kept`() async throws {
        try await World.run { world in
            let discovery = Discovery(environment: world.environment)
            for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                world.provider.fault(.status(.internalServerError), at: location)
            }
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
                    for location in [Endpoint.openIDConfiguration, .oauthMetadata] {
                        world.provider.fault(.status(.internalServerError), at: location)
                    }
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
