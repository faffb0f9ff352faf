import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A sign-in and a sign-out that are killed at every third point, from a random one on. A point is a call on a file of
/// the session or on a connection.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct KilledFlowsEnduranceTests {
    @Test(arguments: [true, false])
    func `a killed sign-in leaves the session of before, or the new one`(hasSession: Bool) async throws {
        try await withDesk(.torture()) { fixture in
            try await expectSession(fixture, hasSession: hasSession) { injector, point in
                try injector.start(fixture.loginArguments([]), .kill, at: point)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a killed sign-in of a device leaves the session of before, or the new one`(hasSession: Bool) async throws {
        try await withDesk(.device) { fixture in
            try await expectSession(fixture, hasSession: hasSession) { injector, point in
                let arguments = ["device", "--json", "--issuer", fixture.issuer, "--client-id", "demo"]
                let process = try injector.start(arguments, .kill, at: point)
                // The process may die before it shows a code, or before the user enters it.
                if let shown = try? await DeviceCode(process) { _ = try? await shown.decide("allow") }
                return process
            }
        }
    }

    private func expectSession(
        _ fixture: CommandFixture, hasSession: Bool, _ signIn: (FaultInjector, Int?) async throws -> ChildProcess
    ) async throws {
        let injector = try await FaultInjector(fixture)
        if hasSession { _ = try await fixture.login().result() }
        let points = try await signIn(injector, nil).outcome().points
        #expect(points.contains("rename session.new") && points.contains("connect"), "\(points)")
        var kills = 0
        for point in stride(from: Int.random(in: 1...3), through: points.count, by: 3) {
            if !hasSession { _ = try await fixture.run("logout", "--json", "--local").result() }
            let before = hasSession ? try fixture.session() : nil
            let outcome = try await signIn(injector, point).outcome()
            // The browser's connections do not always come in the same pieces.
            #expect([0, 128 + SIGKILL].contains(outcome.status), "\(point): \(outcome)")
            if outcome.status != 0 { kills += 1 }
            let stored = try? fixture.session()
            #expect(stored != nil || !hasSession, "\(point): \(outcome)")
            if stored != nil { _ = try await fixture.run("token", "--json", "--force-refresh").result() }
            if outcome.status == 0 { #expect(stored != nil && stored != before, "\(point): \(outcome)") }
        }
        #expect(kills > 5, "\(points)")
    }

    /// The next sign-out does the rest: nothing is stored then, and the provider honours nothing any more.
    @Test func `a killed sign-out can be done once more`() async throws {
        try await withDesk(.torture()) { fixture in
            let injector = try await FaultInjector(fixture)
            _ = try await fixture.login().result()
            let points = try await injector.start(["logout", "--json"]).outcome().points
            #expect(points.contains("connect") && points.contains { $0.hasPrefix("rename") || $0.hasPrefix("remove") })
            for point in stride(from: Int.random(in: 1...3), through: points.count, by: 3) {
                _ = try await fixture.login().result()
                let outcome = try await injector.start(["logout", "--json"], .kill, at: point).outcome()
                #expect([0, 128 + SIGKILL].contains(outcome.status), "\(point): \(outcome)")
                _ = try await fixture.run("logout", "--json", "--revoke-only").result()
                #expect(fixture.stored.isEmpty, "\(point): \(outcome)")
                #expect(fixture.provider.livingTokens.isEmpty, "\(point): \(outcome)")
            }
        }
    }
}
