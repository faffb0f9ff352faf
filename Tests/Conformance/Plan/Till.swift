import AppAuthServer
import AppAuthConcurrency
import AppAuthProtocol
import AppAuthSession
import Foundation
import AppAuthTestProvider

/// A relying party whose user approves the sign-in elsewhere. Its waits pass no time: they put both sides' clocks forward.
struct Till: Sendable {
    let party: RelyingParty
    private let clock: WaitingClock

    init(_ party: RelyingParty, _ clock: WaitingClock) {
        (self.party, self.clock) = (party.with { $0.now = { clock.now } }, clock)
    }

    /// How long the library waited before each poll.
    var pauses: [Duration] { clock.pauses }

    /// A session by backchannel authentication.
    ///
    /// - Parameter happens: The events at the provider in each pause, counted from 1; by default alice approves in the
    ///   second one.
    func signIn(
        as user: String = "alice",
        happens: @escaping @Sendable (_ provider: LocalProvider, _ pause: Int) throws -> Void = { provider, pause in
            if pause == 2 { try provider.decide(isAllowed: true) }
        }
    ) async throws -> AuthState {
        let request = try await BackchannelAuthenticationRequest(client: party.client(), hint: .login(user))
        let authentication = try await request.send(in: party.environment)
        var environment = party.environment
        environment.sleep = { [party, clock] pause in try happens(party.provider, clock.wait(pause)) }
        return try await AuthState.awaitApproval(
            of: authentication, store: MemoryTokenStore(), environment: environment)
    }
}

extension Plan {
    /// As ``run(_:_:)``, for a sign-in that is approved elsewhere.
    func runsTill(
        _ configure: (inout LocalProvider.Configuration) -> Void = { _ in }, _ module: (Till) async throws -> Void
    ) async throws {
        let clock = WaitingClock()
        try await run({ configuration in
            configuration.clock = { clock.now.wall }
            configure(&configuration)
        }) { try await module(Till($0, clock)) }
    }
}

extension LocalProvider {
    /// Alice decides on her device.
    func decide(isAllowed: Bool) throws {
        for waiting in waitingApprovals { try decide(waiting.authReqID, isAllowed: isAllowed) }
    }
}

/// The machine's clock, put forward by every wait.
final class WaitingClock: Sendable {
    private let waits = LockedValue<[Duration]>([])

    var pauses: [Duration] { waits.withLock { $0 } }

    var now: Timestamp {
        let (now, passed) = (Timestamp.current, pauses.reduce(.zero, +))
        return Timestamp(wall: now.wall + passed.seconds, sinceBoot: now.sinceBoot + passed, boot: now.boot)
    }

    /// - Returns: How many waits there have been.
    func wait(_ pause: Duration) -> Int {
        waits.withLock { waits in
            waits.append(pause)
            return waits.count
        }
    }
}
