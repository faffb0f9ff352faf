import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// A file that is no session is refused with its name, before the browser opens, and stays unchanged.
@Suite(.timeLimit(.minutes(5)))
struct StoreRefusalTests {
    @Test(arguments: [
        "", "my diary\n", "{}", #"{"format":"another app","version":1}"#,
        #"{"format":"swift-appauth session","version":1}"#, #"{"format":"swift-appauth session","version":99}"#,
    ])
    func `another file is rejected and unchanged`(contents: String) async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/diary"
            try Data(contents.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
            try await expectRefusal(of: path, fixture)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(contents.utf8))
            #expect(try mode(path) == 0o644)
        }
    }

    @Test func `the mode of a session file is restored to 0600`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            #expect(chmod(path, 0o644) == 0)
            _ = try await fixture.run("token", "--json").result()
            #expect(try mode(path) == 0o600)
        }
    }

    @Test func `a damaged session is rejected and unchanged`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            let damaged = try fixture.session().dropLast(20)
            try damaged.write(to: URL(fileURLWithPath: path))
            try await expectRefusal(of: path, fixture)
            #expect(try fixture.session() == damaged)
            // Without --issuer and --client-id too: it does not count as a missing session.
            try await fixture.run("token", "--json").failure(1, "store")
            try await fixture.login().failure(1, "store")
            #expect(try fixture.session() == damaged)
        }
    }

    @Test func `a symbolic link that may not be followed is rejected, and its target unchanged`() async throws {
        try await withDesk { fixture in
            _ = try await fixture.login("--store", "file:\(fixture.home)/session").result()
            let path = fixture.home + "/link"
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.home + "/session")
            chmod(fixture.home + "/session", 0o640)
            try await expectRefusal(of: path, fixture, visits: 1)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == fixture.home + "/session")
        }
    }

    @Test func `a folder, a named pipe and a device are rejected without delay`() async throws {
        try await withDesk { fixture in
            let folder = fixture.home + "/folder"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            try await expectRefusal(of: fixture.browser.path, fixture)
            for path in [folder, "/dev/zero"] { try await expectRefusal(of: path, fixture, hasWayOut: false) }
        }
    }

    @Test func `the file of another user is rejected and unchanged`() async throws {
        try await withDesk { fixture in
            var path = "/etc/passwd"
            if geteuid() == 0 {
                path = fixture.home + "/session"
                _ = try await fixture.login("--store", "file:\(path)").result()
                #expect(chown(path, 65534, 65534) == 0)
            }
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            #expect(
                try await expectRefusal(of: path, fixture, visits: fixture.browser.visits.count).contains(
                    "another user"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
        }
    }

    @Test func `an unreadable file is rejected and unchanged`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            let before = try fixture.session()
            #expect(chmod(path, 0) == 0)
            for command in [["token", "--json"], fixture.loginArguments([])] {
                let outcome = try await fixture.startWithoutPrivileges(command).outcome()
                #expect(try outcome.failure(1, "store").contains(path))
            }
            #expect(fixture.browser.visits.isEmpty)
            #expect(chmod(path, 0o600) == 0)
            #expect(try fixture.session() == before)
        }
    }

    @Test func `an unreadable lock is not taken for another user's`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let lock = "\(fixture.sessions)/\(try #require(fixture.stored.first)).lock"
            #expect(chmod(lock, 0) == 0)
            let outcome = try await fixture.startWithoutPrivileges(["token", "--json", "--force-refresh"]).outcome()
            let message = try outcome.failure(1, "store")
            #expect(message.contains("\(lock): Permission denied") && !message.contains("--discard"), "\(message)")
        }
    }

    @Test func `a process without standard input, output and errors refreshes and stores`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            let program = ["sh", "-c", #"exec "$0" "$@" <&- >&- 2>&-"#, try BuiltProducts.path("sign-in")]
            _ = try await fixture.start(program, ["token", "--force-refresh"]).outcome()
            #expect(try fixture.session() != before)
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `a folder that cannot be written keeps the old session`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let before = try fixture.session()
            #expect(chmod(fixture.sessions, 0o500) == 0)
            defer { chmod(fixture.sessions, 0o700) }
            let outcome = try await fixture.startWithoutPrivileges(fixture.loginArguments([])).outcome()
            #expect(try outcome.failure(1, "store").contains(fixture.sessions))
            #expect(try fixture.session() == before)
        }
    }

    @discardableResult
    private func expectRefusal(
        of path: String, _ fixture: CommandFixture, visits: Int = 0, hasWayOut: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let store = ["--json", "--store", "file:\(path)"]
        for command in [["token"], ["logout", "--local"], ["status"]] {
            let message = try await fixture.start(command + store).outcome().failure(
                1, "store", sourceLocation: sourceLocation)
            #expect(message.contains(path), "\(message)", sourceLocation: sourceLocation)
            let wayOut = ". To set it aside and go on: sign-in logout --local --discard --store file:\(path)"
            #expect(message.hasSuffix(wayOut) == hasWayOut, "\(message)", sourceLocation: sourceLocation)
        }
        let login = try await fixture.start(fixture.loginArguments(store)).outcome()
        #expect(login.errorLines.count == 1, "\(login)", sourceLocation: sourceLocation)
        #expect(fixture.browser.visits.count == visits, sourceLocation: sourceLocation)
        return try login.failure(1, "store", sourceLocation: sourceLocation)
    }

    @Test(arguments: [(EINVAL, "no locks of open files"), (ENOLCK, "No locks available")] as [(CInt, String)])
    func `where files cannot be locked, no browser opens`(error: CInt, words: String) async throws {
        try await withDesk { fixture in
            let changes = [
                "LD_PRELOAD": try await FaultInjector.library("unlockable", for: fixture), "LOCK_ERROR": String(error),
            ]
            let message = try await fixture.start(fixture.loginArguments([]), changes).outcome().failure(1, "store")
            #expect(message.contains(words), "\(message)")
            #expect(fixture.provider.log.isEmpty && fixture.stored.isEmpty)
            // The lock of a session that exists.
            try await fixture.signIn()
            _ = try await fixture.start(fixture.loginArguments([]), changes).outcome().failure(1, "store")
            #expect(fixture.provider.count(.authorization) == 1)
        }
    }
}
