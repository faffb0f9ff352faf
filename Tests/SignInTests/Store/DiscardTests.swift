import Foundation
import JOSE
import AppAuthTestProvider
import Testing

/// A damaged store can be set aside: its contents get another name, and a new session replaces them.
@Suite(.timeLimit(.minutes(5)))
struct DiscardTests {
    enum Damage: CaseIterable {
        case truncated, empty, foreign, laterVersion, anotherUsers, link, folder
    }

    private func damage(_ path: String, _ damage: Damage, _ fixture: CommandFixture) throws {
        let file = URL(fileURLWithPath: path)
        switch damage {
        case .truncated: try Data(contentsOf: file).dropLast(20).write(to: file)
        case .empty: try Data().write(to: file)
        case .foreign: try Data("my diary\n".utf8).write(to: file)
        case .laterVersion: try CommandFixture.editSession(at: path) { $0["version"] = 99 }
        case .anotherUsers: #expect(chown(path, 65534, 65534) == 0)
        case .link:
            try FileManager.default.moveItem(atPath: path, toPath: fixture.home + "/target")
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.home + "/target")
            chmod(fixture.home + "/target", 0o644)
        case .folder:
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try Data("inside".utf8).write(to: URL(fileURLWithPath: path + "/file"))
        }
    }

    /// The bytes of a file, the target of a link, or the names in a folder.
    private func contents(_ path: String) throws -> Data? {
        if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) { return Data(target.utf8) }
        if let names = try? FileManager.default.contentsOfDirectory(atPath: path) { return Data("\(names)".utf8) }
        return FileManager.default.contents(atPath: path)
    }

    /// The line may be pasted where another profile is in use.
    @Test(arguments: [true, false])
    func `the line that sets a session aside names the profile in use`(isVariable: Bool) async throws {
        try await withDesk { fixture in
            try await fixture.signIn(profile: "work")
            try damage("\(fixture.sessions)/work.json", .truncated, fixture)
            if !isVariable { _ = try await fixture.run("use", "work") }
            let token = try await fixture.run("token", "--json", with: isVariable ? ["SIGN_IN_PROFILE": "work"] : [:])
            let message = try token.failure(1, "store")
            #expect(message.hasSuffix("sign-in logout --local --discard --profile work"), "\(message)")
        }
    }

    private static let damages = Damage.allCases.filter { $0 != .anotherUsers || geteuid() == 0 }

    @Test(arguments: damages, [["logout", "--local", "--discard"], ["login", "--replace-store"]])
    func `a damaged store is set aside under a new name and replaced by a new session`(
        damage: Damage, command: [String]
    ) async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            try self.damage(path, damage, fixture)
            let before = try contents(path)
            // Where root has no more rights than others, a file of another user cannot even be opened.
            func run(_ arguments: [String]) async throws -> Outcome {
                guard damage == .anotherUsers else { return try await fixture.start(arguments).outcome() }
                return try await fixture.startWithoutPrivileges(arguments).outcome()
            }
            let refused = try await run(["token", "--json"]).failure(1, "store")
            #expect(refused.hasSuffix(". To set it aside and go on: sign-in logout --local --discard"), "\(refused)")
            let isLogin = command.first == "login"
            let arguments = isLogin ? fixture.loginArguments(["--replace-store"]) : command + ["--json"]
            let outcome = try await run(arguments)
            let result = try outcome.result()
            let aside = try #require(fixture.stored.first { $0.contains(".damaged-") })
            #expect(outcome.errors.contains("are now in \(fixture.sessions)/\(aside)"), "\(outcome)")
            if !isLogin { #expect(result["discarded"]?.string == "\(fixture.sessions)/\(aside)") }
            #expect(try contents("\(fixture.sessions)/\(aside)") == before)
            if damage == .link { #expect(FileManager.default.fileExists(atPath: fixture.home + "/target")) }
            if !isLogin { try await fixture.signIn() }
            #expect(fixture.stored.count == 2)
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `a session that is not damaged is signed out, or replaced, as without the option`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            _ = try await fixture.login("--replace-store").result()
            #expect(fixture.stored.count == 1)
            let logout = try await fixture.run("logout", "--json", "--revoke-only", "--discard").result()
            #expect(logout["revoked"]?.array?.count == 2 && logout["discarded"] == nil)
            #expect(fixture.stored.isEmpty)
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make another user’s file"), arguments: [true, false])
    func `the lock of another user is set aside too`(isPrivileged: Bool) async throws {
        try await withDesk { fixture in
            func logout(_ options: String...) async throws -> Outcome {
                let arguments = ["logout", "--json", "--local"] + options
                return try await (isPrivileged ? fixture.start(arguments) : fixture.startWithoutPrivileges(arguments))
                    .outcome()
            }
            try await fixture.signIn()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first))"
            for file in [path, path + ".lock"] { #expect(chown(file, 65534, 65534) == 0) }
            try await logout().failure(1, "store")
            _ = try await logout("--discard").result()
            let names = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions)
            #expect(names.count { $0.contains(".damaged-") } == 2, "\(names)")
            try await fixture.signIn()
            _ = try await fixture.run("token", "--json", "--force-refresh").result()
        }
    }

    @Test func `a lock that is a symbolic link is set aside, but its target is not`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let lock = "\(fixture.sessions)/\(try #require(fixture.stored.first)).lock"
            try FileManager.default.moveItem(atPath: lock, toPath: fixture.home + "/target")
            try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: fixture.home + "/target")
            let requests = fixture.provider.log.count
            for command in [["token", "--json", "--force-refresh"], fixture.loginArguments([])] {
                let refused = try await fixture.start(command).outcome().failure(1, "store")
                #expect(refused.contains("--discard"), "\(refused)")
            }
            // Not even a sign-in begins.
            #expect(fixture.provider.log.count == requests)
            _ = try await fixture.run("logout", "--json", "--revoke-only", "--discard").result()
            #expect(FileManager.default.fileExists(atPath: fixture.home + "/target"))
            #expect(fixture.stored.count == 1 && fixture.stored.allSatisfy { $0.contains(".lock.damaged-") })
        }
    }

    @Test func `the hint names the session as the command did`() async throws {
        try await withDesk { fixture in
            let path = fixture.home + "/my diary"
            try Data("my diary".utf8).write(to: URL(fileURLWithPath: path))
            let options = ["--store=file:\(path)", "--client-id", "demo"]
            let message = try await fixture.start(["token", "--json"] + options).outcome().failure(1, "store")
            #expect(message.hasSuffix(": sign-in logout --local --discard '--store=file:\(path)' --client-id demo"))
        }
    }
}
