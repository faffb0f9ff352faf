import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A refresh that is cut off, at a provider that ends the grant when a used refresh token comes back.
@Suite(.timeLimit(.minutes(5)))
struct CutOffRefreshTests {
    enum Cut: CaseIterable { case kill, interrupt, terminate, timeout }

    @Test(arguments: Cut.allCases)
    func `a refresh that is cut off while the keys are fetched loses nothing`(cut: Cut) async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let before = try fixture.record()
            try fixture.provider.rotateSigningKeys()
            try fixture.provider.withdrawOldSigningKeys()
            let hold = fixture.provider.hold(.keys, before: .request)
            let limit = cut == .timeout ? ["--timeout", "8"] : []
            let process = try fixture.start(["token", "--force-refresh", "--json"] + limit)
            try await hold.arrived()
            let stored = try fixture.record()
            #expect(stored.refreshToken != before.refreshToken && stored.accessToken == before.accessToken)
            switch cut {
            case .kill: process.send(SIGKILL)
            case .interrupt: process.send(SIGINT)
            case .terminate: process.send(SIGTERM)
            case .timeout: break
            }
            // The keys do not come before the process has ended.
            _ = try await process.outcome()
            hold.release()
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    @Test func `an interrupt waits for a refresh that was sent, and says so`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let before = try fixture.record()
            // Longer than a user would wait without a reason.
            fixture.provider.fault(.delay(.seconds(3)), at: .token)
            let hold = fixture.provider.hold(.token, before: .request)
            let process = try fixture.start(["token", "--force-refresh", "--verbose"])
            try await hold.arrived()
            process.send(SIGINT)
            _ = try await process.line { $0.contains("finishing the refresh, press Ctrl-C again to give up") }
            hold.release()
            let outcome = try await process.outcome()
            #expect(outcome.status == 130, "\(outcome)")
            #expect(try fixture.record().refreshToken != before.refreshToken)
            _ = try await fixture.run("token", "--force-refresh", "--json").result()
        }
    }

    @Test func `a second interrupt gives up`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login().result()
            let hold = fixture.provider.hold(.token, before: .request)
            let process = try fixture.start(["token", "--force-refresh", "--verbose"])
            try await hold.arrived()
            process.send(SIGINT)
            _ = try await process.line { $0.contains("finishing the refresh") }
            process.send(SIGINT)
            #expect(try await process.outcome().status == 130)
            hold.release()
        }
    }
}
