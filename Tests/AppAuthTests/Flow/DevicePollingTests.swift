import AppAuth
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import HTTPTypes
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// The waiting of the device flow: pauses, failures, and the ends of the code (RFC 8628 §3.5).
@Suite(.timeLimit(.minutes(5)))
struct DevicePollingTests {
    @Test func `slow_down adds five seconds permanently`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            // The provider's clock is slow for once.
            fixture.plan(duringPause: 2) { fixture in fixture.world.clock.advance(by: -3) }
            fixture.plan(duringPause: 4) { try await $0.decide() }
            _ = try await fixture.signIn().run(store: MemoryTokenStore())
            #expect(fixture.pauses == [.seconds(5), .seconds(5), .seconds(10), .seconds(10)])
            #expect(fixture.slowDowns == [.seconds(10)])
        }
    }

    @Test(
        arguments: [
            .reset(), .status(.serviceUnavailable), .status(.badGateway), .lostResponse,
            .status(.internalServerError, json: ["error": "server_error"]),
        ] as [Fault])
    func `a provider in trouble is asked less often, and then as before`(fault: Fault) async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            world.provider.fault(fault, at: .token, times: 3)
            fixture.plan(duringPause: 5) { try await $0.decide() }
            _ = try await fixture.signIn().run(store: MemoryTokenStore())
            #expect(fixture.pauses == [5, 10, 20, 40, 5].map { .seconds($0) })
        }
    }

    @Test(arguments: [Fault.unavailable(retryAfter: 17), .tooManyRequests(retryAfter: 17)])
    func `a Retry-After is kept to`(fault: Fault) async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            world.provider.fault(fault, at: .token)
            fixture.plan(duringPause: 2) { try await $0.decide() }
            _ = try await fixture.signIn().run(store: MemoryTokenStore())
            #expect(fixture.pauses == [.seconds(5), .seconds(17)])
        }
    }

    @Test func `a provider that is gone for a while does not end it`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            var signIn = try fixture.signIn()
            let down = LockedValue(3)
            signIn.environment.transport = Outage(of: world.transport, at: "/token", left: down)
            fixture.plan(duringPause: 4) { try await $0.decide() }
            _ = try await signIn.run(store: MemoryTokenStore())
            #expect(fixture.pauses == [5, 10, 20, 40].map { .seconds($0) })
            #expect(world.provider.count(.token) == 1)
        }
    }

    /// Sends so many requests to a port without a server.
    private struct Outage: HTTPTransport {
        let transport: CurlTransport
        let path: String
        let left: LockedValue<Int>

        init(of transport: CurlTransport, at path: String, left: LockedValue<Int>) {
            (self.transport, self.path, self.left) = (transport, path, left)
        }

        func send(_ exchange: TransportRequest) async throws -> TransportResponse {
            var exchange = exchange
            let isDown =
                exchange.head.path == path
                && left.withLock { left in
                    left -= 1
                    return left >= 0
                }
            // Port 1 (tcpmux): no server has listened there for decades.
            if isDown { exchange.head.authority = "127.0.0.1:1" }
            return try await transport.send(exchange)
        }
    }

    @Test func `a no of the user is access_denied, and nothing is stored`() async throws {
        try await World.run { world in
            let (fixture, store) = (DeviceFixture(world), TestStore())
            fixture.plan(duringPause: 2) { try await $0.decide("deny") }
            let error = try #require(await authError { try await fixture.signIn().run(store: store) })
            #expect(error.code == .accessDenied)
            #expect(error.message.contains("you or the provider denied access"), "\(error)")
            #expect(await store.saves == 0)
            #expect(fixture.pauses.count == 2)
        }
    }

    @Test func `the code's expiry ends the wait here, without another question`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.deviceCodeLifetime = 12
        try await World.run(configuration) { world in
            let fixture = DeviceFixture(world)
            let error = try #require(await authError { try await fixture.signIn().run(store: MemoryTokenStore()) })
            #expect(error.code == .expiredToken)
            #expect(error.message.contains("Start a new sign-in"), "\(error)")
            #expect(fixture.pauses == [.seconds(5), .seconds(5), .seconds(2)])
            #expect(world.provider.count(.token) == 2)
        }
    }

    @Test func `no poll follows a pause that the expiry cut short, even if the clock is wrong`() async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.deviceCodeLifetime = 7
        try await World.run(configuration) { world in
            let fixture = DeviceFixture(world)
            fixture.plan(duringPause: 2) { fixture in fixture.world.clock.advance(by: -1) }
            let error = await authError { try await fixture.signIn().run(store: MemoryTokenStore()) }
            #expect(error?.code == .expiredToken)
            #expect(fixture.pauses == [.seconds(5), .seconds(2)])
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `a machine that slept past the expiry asks no more`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            fixture.plan(duringPause: 2) { fixture in fixture.world.clock.advance(by: 3600) }
            let error = await authError { try await fixture.signIn().run(store: MemoryTokenStore()) }
            #expect(error?.code == .expiredToken)
            #expect(world.provider.count(.token) == 1)
        }
    }

    @Test func `the provider's expired_token ends it`() async throws {
        try await World.run { world in
            let fixture = DeviceFixture(world)
            world.provider.fault(.editDocument { $0["expires_in"] = 6000 }, at: .deviceAuthorization)
            fixture.plan(duringPause: 2) { fixture in fixture.world.clock.advance(by: 600) }
            let error = try #require(await authError { try await fixture.signIn().run(store: MemoryTokenStore()) })
            #expect(error.code == .expiredToken)
            #expect(error.server?.error == "expired_token")
            #expect(world.provider.count(.token) == 2)
        }
    }
}

extension DeviceFixture {
    fileprivate var slowDowns: [Duration] {
        events.compactMap { if case .polling(.slowedDown(let interval)) = $0 { interval } else { nil } }
    }
}
