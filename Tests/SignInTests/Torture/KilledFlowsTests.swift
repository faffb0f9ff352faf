import AppAuthCore
import Foundation
import JOSE
import LocalProvider
import Testing

/// A sign-in and a sign-out that are killed at every third point, from a random one on: a call on a file of the session, or
/// on a connection.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct KilledFlowsTests {
    @Test(arguments: [true, false])
    func `a killed sign-in leaves the session of before, or the new one`(hasSession: Bool) async throws {
        try await withDesk(.torture()) { desk in
            try await expectSession(desk, hasSession: hasSession) { accidents, point in
                try accidents.start(desk.loginArguments([]), .kill, at: point)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a killed sign-in of a device leaves the session of before, or the new one`(hasSession: Bool) async throws {
        try await withDesk(.device) { desk in
            try await expectSession(desk, hasSession: hasSession) { accidents, point in
                let arguments = ["device", "--json", "--issuer", desk.issuer, "--client-id", "demo"]
                let process = try accidents.start(arguments, .kill, at: point)
                // It may be dead before it has shown a code, and before the person has entered it.
                if let shown = try? await DeviceCode(process) { _ = try? await shown.decide("allow") }
                return process
            }
        }
    }

    private func expectSession(
        _ desk: Desk, hasSession: Bool, _ signIn: (Accidents, Int?) async throws -> ChildProcess
    ) async throws {
        let accidents = try await Accidents(desk)
        if hasSession { _ = try await desk.login().result() }
        let points = try await signIn(accidents, nil).outcome().points
        #expect(points.contains("rename session.new") && points.contains("connect"), "\(points)")
        var kills = 0
        for point in stride(from: Int.random(in: 1...3), through: points.count, by: 3) {
            if !hasSession { _ = try await desk.run("logout", "--json", "--local").result() }
            let before = hasSession ? try desk.session() : nil
            let outcome = try await signIn(accidents, point).outcome()
            // The browser's connections do not always come in the same pieces.
            #expect([0, 128 + SIGKILL].contains(outcome.status), "\(point): \(outcome)")
            if outcome.status != 0 { kills += 1 }
            let stored = try? desk.session()
            #expect(stored != nil || !hasSession, "\(point): \(outcome)")
            if stored != nil { _ = try await desk.run("token", "--json", "--force-refresh").result() }
            if outcome.status == 0 { #expect(stored != nil && stored != before, "\(point): \(outcome)") }
        }
        #expect(kills > 5, "\(points)")
    }

    /// The next sign-out does what is left to do: nothing is stored then, and the provider honours nothing any more.
    @Test func `a killed sign-out can be done once more`() async throws {
        try await withDesk(.torture()) { desk in
            let accidents = try await Accidents(desk)
            _ = try await desk.login().result()
            let points = try await accidents.start(["logout", "--json"]).outcome().points
            #expect(points.contains("connect") && points.contains { $0.hasPrefix("rename") || $0.hasPrefix("remove") })
            for point in stride(from: Int.random(in: 1...3), through: points.count, by: 3) {
                _ = try await desk.login().result()
                let outcome = try await accidents.start(["logout", "--json"], .kill, at: point).outcome()
                #expect([0, 128 + SIGKILL].contains(outcome.status), "\(point): \(outcome)")
                _ = try await desk.run("logout", "--json", "--revoke-only").result()
                #expect(desk.stored.isEmpty, "\(point): \(outcome)")
                #expect(desk.provider.livingTokens.isEmpty, "\(point): \(outcome)")
            }
        }
    }
}
