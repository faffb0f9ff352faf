import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// Another process that keeps a lock of the session: commands say which, within their time, and can be ended.
@Suite(.timeLimit(.minutes(5)))
struct BusyStoreTests {
    /// Runs a program that has a lock of the stored session.
    private func withHolder(
        of byte: Int, for seconds: Int = 900, _ fixture: CommandFixture,
        _ body: (ChildProcess, String) async throws -> Void
    ) async throws {
        let path = "\(fixture.sessions)/\(try #require(fixture.stored.first)).lock"
        try await fixture.withHolder(of: byte, in: path, for: seconds, body)
    }

    @Test(arguments: [0, 1])
    func `a refresh that another process blocks fails before its timeout and names that process`(
        byte: Int
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            try await withHolder(of: byte, fixture) { _, name in
                let token = try await fixture.run("token", "--json", "--force-refresh", "--timeout", "6")
                #expect(try token.failure(1, "store").contains(name), "\(token)")
            }
            #expect(fixture.provider.count(.token) == 1)
            #expect(try fixture.session() == before)
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test(arguments: [["--local"], ["--revoke-only"]])
    func `a sign-out that another process blocks names that process, and works afterwards`(options: [String])
        async throws
    {
        try await withDesk { fixture in
            try await fixture.signIn()
            try await withHolder(of: 0, fixture) { _, name in
                let arguments = ["logout", "--json", "--timeout", "6"] + options
                let logout = try await fixture.start(arguments).outcome()
                #expect(try logout.failure(1, "store").contains(name), "\(logout)")
            }
            #expect(fixture.stored.count == 1)
            _ = try await fixture.run("logout", "--json", "--local").result()
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `the time for which a sign-out waits for a lock is a part of its timeout`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            fixture.provider.fault(.htmlPage, at: .endSession)
            try await withHolder(of: 0, for: 8, fixture) { _, _ in
                let start = ContinuousClock.now
                let outcome = try await fixture.run("logout", "--discard", "--json", "--timeout", "14")
                #expect(try outcome.result()["session_ended"] == false, "\(outcome)")
                #expect(outcome.errors.contains("did not confirm"), "\(outcome)")
                // With a limit for each, it would take 22 s.
                #expect(ContinuousClock.now - start < .seconds(20))
            }
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test func `a sign-in that another process blocks names that process`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            try await withHolder(of: 0, fixture) { _, name in
                let login = try await fixture.login()
                #expect(try login.failure(1, "store").contains(name), "\(login)")
            }
            #expect(try fixture.session() == before)
        }
    }

    /// The wait for the lock would end later: the signal ends it.
    @Test func `a sign-out that waits for a lock ends at a signal`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            try await withHolder(of: 0, fixture) { _, _ in
                let logout = try fixture.start(["logout", "--json", "--local", "--timeout", "200"])
                while !logout.hasOpenedLock {
                    try Task.checkCancellation()
                    await Task.yield()
                }
                logout.send(SIGTERM)
                try await logout.outcome().failure(1, "terminated")
            }
            #expect(fixture.stored.count == 1)
        }
    }
}

extension CommandFixture {
    /// Runs a program that has the lock of a byte of a file.
    func withHolder(
        of byte: Int, in path: String, for seconds: Int = 900, _ body: (ChildProcess, String) async throws -> Void
    ) async throws {
        let script = """
            $| = 1; open(F, "+>>", $ARGV[0]) or die;
            fcntl(F, F_SETLK, pack("ssx4qqlx4", F_WRLCK, 0, $ARGV[1], 1, 0)) or die;
            print "locked\\n"; sleep $ARGV[2];
            """
        let holder = try start(["perl", "-MFcntl", "-e", script, path, String(byte), String(seconds)], [])
        _ = try await holder.outputLine { $0 == "locked" }
        try await body(holder, "process \(holder.id) (perl)")
        holder.send(SIGKILL)
        _ = try await holder.outcome()
    }
}
