package import AppAuth
internal import AppAuthConcurrency
package import AppAuthProtocol
internal import Foundation
internal import JOSE
internal import AppAuthTestProvider
internal import ScriptedBrowser

/// A device and the user in front of it: time passes only while the device sleeps, and the user acts when the test
/// says so.
package final class DeviceFixture: Sendable {
    package let world: World
    private let slept = LockedValue<[Duration]>([])
    private let seen = LockedValue<[DeviceSignIn.Event]>([])
    private let plans = LockedValue<[Int: @Sendable (DeviceFixture) async throws -> Void]>([:])
    private let shown = LockedValue<DeviceAuthorization?>(nil)

    package init(_ world: World) { self.world = world }

    /// Each pause, in order.
    package var pauses: [Duration] { slept.withLock { $0 } }
    package var events: [DeviceSignIn.Event] { seen.withLock { $0 } }
    package var code: DeviceAuthorization? { shown.withLock { $0 } }

    /// The actions during a pause, counted from 1.
    package func plan(duringPause number: Int, _ action: @escaping @Sendable (DeviceFixture) async throws -> Void) {
        plans.withLock { $0[number] = action }
    }

    package func signIn() throws -> DeviceSignIn {
        var environment = world.environment
        environment.sleep = { duration in try await self.pass(duration) }
        var signIn = try DeviceSignIn(
            issuer: Issuer(world.provider.issuer), clientID: "demo", environment: environment)
        signIn.observe = { event in
            self.seen.withLock { $0.append(event) }
            if case .code(let code) = event { self.shown.withLock { $0 = code } }
        }
        return signIn
    }

    private func pass(_ duration: Duration) async throws {
        let number = slept.withLock { slept in
            slept.append(duration)
            return slept.count
        }
        try await plans.withLock { $0[number] }?(self)
        world.clock.advance(by: duration.seconds)
        try Task.checkCancellation()
    }

    /// The user opens the page with the code in it, and decides.
    package func decide(_ action: String = "allow") async throws {
        var entries = ["username": "alice", "password": "looking-glass"]
        if action == "deny" { entries["action"] = "deny" }
        let browser = ScriptedBrowser(transport: world.transport, entries: entries)
        try await browser.visit(code?.verificationURIComplete?.string ?? "")
    }
}
