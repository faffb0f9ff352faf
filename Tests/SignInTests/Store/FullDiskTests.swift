import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import TestFixtures
import Testing

/// No room to write: a limit on the size of files simulates a full disk.
@Suite(.timeLimit(.minutes(5)))
struct FullDiskTests {
    @Test func `a sign-in that cannot be stored fails with one line, and the old session stays`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            let outcome = try await fixture.start(limited(fixture), fixture.loginArguments([])).outcome()
            #expect(try outcome.failure(1, "store").contains(fixture.sessions))
            #expect(try fixture.session() == before)
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test func `a refresh that could not be stored is not made, and the session stays`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            let outcome = try await fixture.start(limited(fixture), ["token", "--json", "--force-refresh"]).outcome()
            try outcome.failure(1, "store")
            #expect(outcome.errorLines.count == 1)
            #expect(try fixture.session() == before)
            #expect(fixture.provider.count(.token) == 1)
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `a disk that is full when the response arrives loses nothing`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let hold = fixture.provider.hold(.token)
            let token = ["token", "--json", "--force-refresh", "--timeout", "20"]
            let refreshing = try fixture.start(token + ["--verbose"])
            try await hold.arrived()
            let before = try fixture.session()
            try await limit(refreshing, "0")
            hold.release()
            _ = try await refreshing.line { $0.contains("new tokens are not stored") }
            // The old session is intact, and new callers wait, since its refresh token has been used.
            #expect(try fixture.session() == before)
            let waiting = try fixture.start(token)
            try await waitUntil { waiting.hasOpenedLock }
            try await limit(refreshing, "unlimited")
            let (first, second) = (try await refreshing.outcome(), try await waiting.outcome())
            let printed = try #require(try first.result()["access_token"]?.string)
            #expect(try second.result()["access_token"]?.string == printed && fixture.provider.isAlive(printed))
            #expect(fixture.provider.count(.token) == 2)
            let record = try fixture.record()
            #expect(
                record.accessToken?.value.reveal() == printed && record.backoff == nil)
            #expect(fixture.provider.isAlive(try #require(record.refreshToken).reveal()))
        }
    }

    @Test(arguments: [false, true])
    func `a command that fails because of a full disk stores its tokens before it ends, unless it is interrupted`(
        isInterrupted: Bool
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            try fixture.expire()
            let before = try fixture.record()
            let hold = fixture.provider.hold(.token)
            let process = try fixture.start(["userinfo", "--json", "--verbose", "--timeout", "3000"])
            try await hold.arrived()
            try await limit(process, "0")
            hold.release()
            // More than the two attempts at the end of a command.
            try await process.lines(4) { $0.contains("new tokens are not stored") }
            if isInterrupted { process.send(SIGINT) } else { try await limit(process, "unlimited") }
            let outcome = try await process.outcome()
            #expect(outcome.status != 0 && outcome.errors.contains("cannot be written"), "\(outcome)")
            let record = try fixture.record()
            #expect((record.refreshToken == before.refreshToken) == isInterrupted)
            guard !isInterrupted else { return }
            #expect(fixture.provider.isAlive(try #require(record.accessToken?.value.reveal())))
            #expect(fixture.provider.count(.token) == 2)
        }
    }

    @Test func `a sign-in that cannot be stored does not begin, and leaves nothing`() async throws {
        try await withDesk { fixture in
            try await fixture.start(limited(fixture), fixture.loginArguments([])).outcome().failure(1, "store")
            #expect(!FileManager.default.fileExists(atPath: fixture.stateHome))
            #expect(fixture.provider.log.isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `if a sign-in cannot be stored in the end, its tokens are revoked, unless a session is stored`(
        isStored: Bool
    ) async throws {
        try await withDesk { fixture in
            if isStored { try await fixture.signIn() }
            let hold = fixture.provider.hold(.token)
            let login = try fixture.start(fixture.loginArguments([]))
            try await hold.arrived()
            try await limit(login, "0")
            hold.release()
            #expect(try await login.outcome().failure(1, "store").contains("cannot be written"))
            if !isStored { #expect(try await fixture.browser.page().contains("cannot be written")) }
            #expect(
                fixture.provider.log(.revocation).map { $0.form["token_type_hint"] }
                    == (isStored ? [] : ["refresh_token", "access_token"]))
            #expect(fixture.stored.isEmpty == !isStored)
            if isStored { _ = try await fixture.run("token", "--json", "--force-refresh").result() }
        }
    }

    @Test func `output that cannot be written is a failure`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            for command in ["token", "status --json", "request GET \(fixture.provider.url(.api))"] {
                let script = "exec sign-in \(command) > /dev/full"
                let outcome = try await fixture.start(["sh", "-c", script], []).outcome()
                #expect(outcome.status == 1 && outcome.errors.contains("No space left on device"), "\(outcome)")
            }
        }
    }

    /// How large a file a process may write from now on.
    private func limit(_ process: ChildProcess, _ bytes: String) async throws {
        let arguments = ["prlimit", "--pid", String(process.id), "--fsize=\(bytes):unlimited"]
        let outcome = try await ChildProcess(arguments, environment: ["PATH": "/usr/bin:/bin"]).outcome()
        #expect(outcome.status == 0, "\(outcome)")
    }

    private func limited(_ fixture: CommandFixture) throws -> [String] {
        ["sh", "-c", #"ulimit -f 0; exec "$0" "$@""#, try BuiltProducts.path("sign-in")]
    }
}
