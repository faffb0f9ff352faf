import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A process has the refresh lock and does not run, at a strict server: the same refresh token must not be sent twice.
@Suite(.timeLimit(.minutes(5)))
struct StoppedHolderEnduranceTests {
    @Test(arguments: [Hold.Point.request, .response])
    func `while a process is stopped during its refresh, others name it, and its tokens are stored later`(
        point: Hold.Point
    ) async throws {
        try await withDesk(.torture()) { fixture in
            _ = try await fixture.login().result()
            let hold = fixture.provider.hold(.token, before: point)
            let stopped = try fixture.start(["token", "--json", "--force-refresh"])
            try await hold.arrived()
            stopped.send(SIGSTOP)
            hold.release()
            let other = try await fixture.run("token", "--json", "--force-refresh", "--timeout", "6")
            #expect(try other.failure(1, "store").contains("process \(stopped.id) (sign-in)"), "\(other)")
            #expect(fixture.provider.count(.token) == 2)
            stopped.send(SIGCONT)
            let token = try await stopped.outcome().result()["access_token"]
            #expect(try await fixture.run("token", "--json").result()["access_token"] == token)
            #expect(fixture.provider.count(.token) == 2)
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    /// A later version of the library replaces the session while a process of this version refreshes the former one.
    @Test func `a session of a later version is not overwritten by a refresh that began before`() async throws {
        try await withDesk(.torture()) { fixture in
            _ = try await fixture.login().result()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            let hold = fixture.provider.hold(.token, before: .response)
            let refreshing = try fixture.start(["token", "--json", "--force-refresh", "--timeout", "6"])
            try await hold.arrived()
            try CommandFixture.editSession(at: path) { ($0["version"], $0["id"]) = (99, "of the later version") }
            let later = try fixture.session()
            hold.release()
            let message = try await refreshing.outcome().failure(1, "store")
            #expect(message.contains("version 99, expected version 2"), "\(message)")
            #expect(try fixture.session() == later)
            // A process that starts now sends nothing.
            try await fixture.run("token", "--json", "--force-refresh").failure(1, "store")
            #expect(fixture.provider.count(.token) == 2)
            #expect(try fixture.session() == later)
        }
    }
}
