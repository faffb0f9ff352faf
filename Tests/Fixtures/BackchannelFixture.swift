internal import AppAuthConcurrency
package import AppAuthProtocol
package import AppAuthServer
package import AppAuthSession
internal import Foundation
internal import AppAuthTestProvider

/// A client at a till, and the user with a device of their own: time passes only while the client waits.
package final class BackchannelFixture: Sendable {
    package let world: World
    private let dpop: DPoPAlgorithm?
    private let slept = LockedValue<[Duration]>([])
    private let seen = LockedValue<[PollingProgress]>([])
    private let plans = LockedValue<[Int: @Sendable (World) throws -> Void]>([:])

    package init(_ world: World, dpop: DPoPAlgorithm? = nil) { (self.world, self.dpop) = (world, dpop) }

    package var pauses: [Duration] { slept.withLock { $0 } }
    package var progress: [PollingProgress] { seen.withLock { $0 } }

    /// The actions during a pause, counted from 1.
    package func plan(duringPause number: Int, _ action: @escaping @Sendable (World) throws -> Void) {
        plans.withLock { $0[number] = action }
    }

    package func client() async throws -> Client {
        Client(
            id: "demo-confidential", authentication: .clientSecretBasic(Secret("s3cret: 100% äß+/= and thirty-two")),
            provider: try await world.metadata(), dpop: dpop)
    }

    package func begin(
        _ hint: BackchannelAuthenticationRequest.Hint = .login("alice"),
        _ options: BackchannelAuthenticationRequest.Options = .init()
    ) async throws -> BackchannelAuthentication {
        try await BackchannelAuthenticationRequest(client: client(), hint: hint, options: options)
            .send(in: world.environment)
    }

    package func signIn(_ authentication: BackchannelAuthentication, store: any TokenStore = TestStore()) async throws
        -> AuthState
    {
        var environment = world.environment
        environment.sleep = { duration in
            let number = self.slept.withLock { slept in
                slept.append(duration)
                return slept.count
            }
            try self.plans.withLock { $0[number] }?(self.world)
            self.world.clock.advance(by: duration.seconds)
            try Task.checkCancellation()
        }
        return try await AuthState.awaitApproval(
            of: authentication, store: store, environment: environment,
            observe: { progress in seen.withLock { $0.append(progress) } })
    }
}

extension World {
    /// The user decides on their device.
    package func decide(isAllowed: Bool = true) throws {
        for waiting in provider.waitingApprovals { try provider.decide(waiting.authReqID, isAllowed: isAllowed) }
    }
}
