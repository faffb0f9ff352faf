import AppAuthProtocol
import AppAuthSession
import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A store that cannot be written to: the stored session can be used, and no change of it is begun.
@Suite(.timeLimit(.minutes(5)))
struct ReadOnlyTests {
    @Test(
        .enabled("this system allows no mounts (unshare --mount)") {
            try await Namespace.isPossible(Namespace.readOnly(FileManager.default.temporaryDirectory.path))
        })
    func `a session on a read-only file system is used until its token expires`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            try await expectUse(fixture) { arguments in
                let prefix = Namespace.readOnly(fixture.sessions) + [try BuiltProducts.path("sign-in")]
                return try fixture.start(prefix, arguments)
            }
        }
    }

    @Test(
        .enabled("this system allows no mounts (unshare --mount)") {
            try await Namespace.isPossible(Namespace.readOnly(FileManager.default.temporaryDirectory.path))
        })
    func `a session whose file is mounted by itself is used until its token expires`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let file = try #require(fixture.stored.first { $0.hasSuffix(".json") })
            let path = "\(fixture.sessions)/\(file)"
            try await expectUse(fixture) { arguments in
                let prefix = Namespace.replacing(path, by: path) + [try BuiltProducts.path("sign-in")]
                return try fixture.start(prefix, arguments)
            }
        }
    }

    @Test(
        .enabled("this system allows no mounts (unshare --mount)") {
            try await Namespace.isPossible(Namespace.readOnly(FileManager.default.temporaryDirectory.path))
        })
    func `any other file that is mounted by itself is named, with what helps`() async throws {
        try await withDesk { fixture in
            for name in ["home", "work"] { _ = try await fixture.login("--profile", name).result() }
            _ = try await fixture.run("use", "home")
            let path = fixture.sessions + "/profile-in-use"
            let prefix = Namespace.replacing(path, by: path) + [try BuiltProducts.path("sign-in")]
            let outcome = try await fixture.start(prefix, ["use", "work"]).outcome()
            #expect(outcome.status == 1 && outcome.errors.contains("\(path) is mounted by itself"), "\(outcome)")
            #expect(outcome.errors.contains("Mount its folder instead"), "\(outcome)")
        }
    }

    @Test func `a session in a folder without write permission is used until its token expires`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let files = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions).map {
                fixture.sessions + "/" + $0
            }
            try await expectUse(fixture) { arguments in
                for file in files { chmod(file, 0o400) }
                chmod(fixture.sessions, 0o500)
                return try fixture.startWithoutPrivileges(arguments)
            } afterwards: {
                chmod(fixture.sessions, 0o700)
                for file in files { chmod(file, 0o600) }
            }
        }
    }

    @Test func `a sign-in into a folder without write permission does not begin`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let (before, requests) = (try fixture.session(), fixture.provider.log.count)
            for file in try FileManager.default.contentsOfDirectory(atPath: fixture.sessions) {
                chmod(fixture.sessions + "/" + file, 0o400)
            }
            chmod(fixture.sessions, 0o500)
            let outcome = try await fixture.startWithoutPrivileges(fixture.loginArguments([])).outcome()
            chmod(fixture.sessions, 0o700)
            #expect(try outcome.failure(1, "store").contains(fixture.sessions))
            #expect(fixture.provider.log.count == requests)
            #expect(try fixture.session() == before)
        }
    }

    private func expectUse(
        _ fixture: CommandFixture, by start: ([String]) throws -> ChildProcess, afterwards: () -> Void = {}
    ) async throws {
        func run(_ arguments: String...) async throws -> Outcome {
            defer { afterwards() }
            return try await start(arguments + ["--json"]).outcome()
        }
        // The short way of `token`, and the long one of everything else.
        let token = try fixture.record().accessToken?.value.reveal()
        for options in [[], ["--min-validity", "10"]] {
            defer { afterwards() }
            let outcome = try await start(["token", "--json"] + options).outcome()
            #expect(try outcome.result()["access_token"]?.string == token)
        }
        _ = try await run("userinfo").result()
        let status = try await run("status").result()
        #expect(status["sessions"]?.array?.first?["state"]?.string == "signed_in")

        try fixture.expire()
        let before = try fixture.session()
        let message = try await run("token").failure(1, "store")
        #expect(message.contains(fixture.sessions), "\(message)")
        #expect(fixture.provider.count(.token) == 1)
        #expect(try fixture.session() == before)

        // Nothing was lost by it.
        _ = try await fixture.run("token", "--json").result()
        #expect(fixture.provider.count(.token) == 2)
    }
}
