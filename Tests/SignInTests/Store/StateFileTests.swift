import AppAuthTestProvider
import Foundation
import JOSE
import Testing

/// Files that say which session a command uses, or where it is. One that is there and cannot be used is an error: if it
/// counted as missing, the command would go on with another session.
@Suite(.timeLimit(.minutes(5)))
struct StateFileTests {
    enum Damage: String, CaseIterable {
        case empty, damaged, folder, fullFolder, link, linkToNothing, anotherUsers, anotherUsersToRead, unreadable, pipe
    }

    private static let damages = Damage.allCases.filter { !"\($0)".hasPrefix("another") || geteuid() == 0 }

    /// Replaces a file by something else.
    private func damage(_ path: String, _ damage: Damage) throws {
        let files = FileManager.default
        switch damage {
        case .empty: try Data().write(to: URL(filePath: path))
        case .damaged: try Data("{\u{0}\n".utf8).write(to: URL(filePath: path))
        case .folder, .fullFolder:
            try files.removeItem(atPath: path)
            try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            if damage == .fullFolder { try Data().write(to: URL(filePath: path + "/file")) }
        case .link, .linkToNothing:
            try files.moveItem(atPath: path, toPath: path + ".target")
            try files.createSymbolicLink(atPath: path, withDestinationPath: path + ".target")
            // Others may read or change the target, so the link is not followed.
            if damage == .link { #expect(chmod(path + ".target", 0o644) == 0) }
            if damage == .linkToNothing { try files.removeItem(atPath: path + ".target") }
        case .anotherUsers: #expect(chown(path, 65534, 65534) == 0)
        case .anotherUsersToRead: #expect(chmod(path, 0o644) == 0 && chown(path, 65534, 65534) == 0)
        case .unreadable: #expect(chmod(path, 0) == 0)
        case .pipe:
            try files.removeItem(atPath: path)
            #expect(mkfifo(path, 0o600) == 0)
        }
    }

    /// Runs a command with file permissions that apply, even for root.
    private func run(_ fixture: CommandFixture, _ arguments: String...) async throws -> Outcome {
        try await fixture.startWithoutPrivileges(arguments + ["--json"]).outcome()
    }

    /// Runs the command line at the end of a message as it is printed.
    private func follow(_ message: String, _ fixture: CommandFixture) async throws {
        let line = try #require(message.components(separatedBy: ": ").last, "\(message)")
        let outcome = try await fixture.start(["sh", "-c", line], []).outcome()
        #expect(outcome.status == 0, "\(line): \(outcome)")
    }

    /// Runs the test after alice has signed in without a profile, and bob with the profile `home`, which is in use.
    private func withTwoUsers(_ body: (CommandFixture) async throws -> Void) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.users.append(.bob)
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            try await fixture.signIn(profile: "home", as: .bob)
            _ = try await fixture.run("use", "home", "--json").result()
            try await body(fixture)
        }
    }

    @Test(arguments: damages)
    func `a choice of profile that cannot be read is not taken for none`(damage: Damage) async throws {
        try await withTwoUsers { fixture in
            let path = fixture.sessions + "/profile-in-use"
            // Without it, this would be the only session.
            _ = try await fixture.run("logout", "--json", "--local", "--profile", "home").result()
            try self.damage(path, damage)
            for command in [["token"], ["userinfo"], ["logout", "--local"], ["login"], ["device"]] {
                let outcome = try await fixture.startWithoutPrivileges(command + ["--json"]).outcome()
                let message = try outcome.failure(1, "store")
                #expect(message.hasPrefix(path + " "), "\(message)")
            }
            // The sessions are listed all the same: the user chooses among them.
            let status = try await run(fixture, "status")
            let listed = try status.result()
            #expect(listed["sessions"]?.array?.count == 1 && listed["signed_out"]?.array?.count == 1, "\(status)")
            let message = try #require(status.errorLines.first).replacing("sign-in: \(path)", with: path)
            #expect(message.hasPrefix(path + " ") && !message.contains("NAME --"), "\(message)")
            _ = try await run(fixture, "token", "--issuer", fixture.issuer, "--client-id", "demo").result()
            try await follow(message, fixture)
            #expect(try await run(fixture, "status").errors.isEmpty)
            if damage != .unreadable { _ = try await run(fixture, "token").result() }
        }
    }

    @Test(arguments: damages.filter { ![.link, .linkToNothing].contains($0) })
    func `use replaces a choice that cannot be read`(damage: Damage) async throws {
        try await withTwoUsers { fixture in
            try self.damage(fixture.sessions + "/profile-in-use", damage)
            _ = try await run(fixture, "use", "home").result()
            #expect(try await run(fixture, "userinfo").result()["sub"] == "bob")
        }
    }

    @Test(arguments: damages)
    func `a profile that cannot be read is named, with a remedy that works`(damage: Damage) async throws {
        try await withTwoUsers { fixture in
            let path = fixture.sessions + "/home.profile"
            try self.damage(path, damage)
            for command in ["token", "login", "logout"] {
                let message = try await run(fixture, command, "--profile", "home").failure(1, "store")
                #expect(message.hasPrefix(path + " "), "\(message)")
            }
            let message = try await run(fixture, "token").failure(1, "store")
            // The session is where profiles usually have it, so it is listed.
            let listed = try await run(fixture, "status").result()["sessions"]?.array
            #expect(listed?.map { $0["state"] } == ["signed_in", "signed_in"], "\(String(describing: listed))")
            try await follow(message, fixture)
            if damage == .unreadable {
                _ = try await run(fixture, "token", "--profile", "home").result()
            } else {
                #expect(!StateFileTests.isThere(path))
                _ = try await run(fixture, "token").result()
            }
        }
    }

    @Test(arguments: damages)
    func `a profile that cannot be read is listed as unreadable if its session may be elsewhere`(
        damage: Damage
    ) async throws {
        try await withTwoUsers { fixture in
            let store = ["--store", "file:\(fixture.home)/session"]
            let login = ["login", "--json", "--issuer", fixture.issuer, "--client-id", "demo", "--profile", "away"]
            _ = try await fixture.start(login + store).outcome().result()
            let path = fixture.sessions + "/away.profile"
            try self.damage(path, damage)
            let status = try await run(fixture, "status")
            let unreadable = try status.result()["unreadable"]?.array
            #expect(unreadable?.count == 1, "\(status)")
            #expect(unreadable?.first?["reason"]?.string?.hasPrefix(path + " ") == true, "\(status)")
            #expect(unreadable?.first?["profile"] == "away")
        }
    }

    @Test(arguments: damages)
    func `a session that cannot be read is named, and another one is not used for it`(damage: Damage) async throws {
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: "second", redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            try await fixture.signIn(client: "second")
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first { $0.contains("+demo") }))"
            try self.damage(path, damage)
            let message = try await run(fixture, "token", "--client-id", "demo").failure(1, "store")
            #expect(message.contains(path), "\(message)")
            // Its name says that it is another one.
            _ = try await run(fixture, "token", "--client-id", "second").result()
            try await run(fixture, "token").wrongUsage()
            let line = damage == .unreadable ? message : message.replacing("logout", with: "logout --client-id demo")
            try await follow(line, fixture)
            if damage == .unreadable {
                _ = try await run(fixture, "token", "--client-id", "demo").result()
            } else {
                #expect(!StateFileTests.isThere(path))
            }
        }
    }

    /// A name that is too long for a file is a digest, which says nothing about the session.
    @Test func `an unreadable session whose name is a digest may be the wanted one`() async throws {
        let long = String(repeating: "x", count: 250)
        var configuration = LocalProvider.Configuration.demo
        configuration.clients.append(RegisteredClient(id: long, redirectURIs: [.anyLoopback]))
        try await withDesk(configuration) { fixture in
            try await fixture.signIn()
            _ = try await fixture.login(client: long).result()
            _ = try await fixture.run("token", "--json", "--issuer", fixture.issuer, "--client-id", "demo").result()
            _ = try await fixture.run("token", "--json", "--client-id", "demo").result()
            let path = "\(fixture.sessions)/\(try #require(fixture.stored.first { !$0.contains("+demo") }))"
            try damage(path, .empty)
            let message = try await fixture.run("token", "--json", "--client-id", "demo").wrongUsage()
            #expect(message.contains("--client-id demo") && message.contains("--store file:\(path)"), "\(message)")
            _ = try await fixture.run("token", "--json", "--issuer", fixture.issuer, "--client-id", "demo").result()
        }
    }

    @Test(arguments: damages)
    func `a registered client that cannot be read is not taken for none`(damage: Damage) async throws {
        try await withDesk { fixture in
            let register = [
                "register", "--json", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback",
            ]
            let id = try #require(try await fixture.start(register).outcome().result()["client_id"]?.string)
            let folder = fixture.sessions + "/clients"
            let name = try #require(
                try FileManager.default.contentsOfDirectory(atPath: folder).first { $0.hasSuffix(".json") })
            try self.damage("\(folder)/\(name)", damage)
            for options in [[], ["--client-id", id]] {
                let login = ["login", "--json", "--issuer", fixture.issuer] + options
                let message = try await fixture.startWithoutPrivileges(login).outcome().failure(1, "store")
                #expect(message.contains("\(folder)/\(name)"), "\(message)")
            }
            let login = ["login", "--json", "--issuer", fixture.issuer]
            try await follow(try await fixture.startWithoutPrivileges(login).outcome().failure(1, "store"), fixture)
            let again = try await fixture.startWithoutPrivileges(login).outcome()
            if damage == .unreadable { _ = try again.result() } else { try again.wrongUsage() }
        }
    }

    @Test(arguments: [Damage.linkToNothing, .unreadable, .pipe, .empty])
    func `a folder of registered clients that cannot be read is not taken for an empty one`(damage: Damage) async throws
    {
        try await withDesk { fixture in
            let folder = fixture.sessions + "/clients"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            switch damage {
            case .unreadable, .linkToNothing: try self.damage(folder, damage)
            default:
                try FileManager.default.removeItem(atPath: folder)
                try Data().write(to: URL(filePath: folder))
                if damage == .pipe { try self.damage(folder, .pipe) }
            }
            let login = ["login", "--json", "--issuer", fixture.issuer]
            let message = try await fixture.startWithoutPrivileges(login).outcome().failure(1, "store")
            #expect(message.hasPrefix(folder + " cannot be read: "), "\(message)")
            chmod(folder, 0o700)
        }
    }

    @Test func `a note of the keyring that cannot be read counts as a note`() async throws {
        try await withDesk { fixture in
            try await fixture.signIn()
            let name = try #require(fixture.stored.first).replacing("+demo.json", with: "+second.keyring")
            let digest = String(repeating: "x", count: 43) + ".keyring"
            for file in [name, digest] {
                let path = "\(fixture.sessions)/\(file)"
                try Data("account".utf8).write(to: URL(filePath: path))
                for damage in [Damage.empty, .linkToNothing] {
                    try self.damage(path, damage)
                    let outcome = try await fixture.run("token", "--json")
                    guard file == digest else {
                        #expect(try outcome.wrongUsage().contains("--client-id second"), "\(outcome)")
                        continue
                    }
                    let message = try outcome.failure(1, "store")
                    #expect(message.hasPrefix(path + " "), "\(message)")
                    guard damage == .linkToNothing else { continue }
                    try await follow(message, fixture)
                }
                unlink(path)
            }
            _ = try await fixture.run("token", "--json").result()
        }
    }

    @Test func `a state folder that is a link to nothing is not taken for an empty one`() async throws {
        try await withDesk { fixture in
            try FileManager.default.createDirectory(atPath: fixture.stateHome, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: fixture.sessions, withDestinationPath: fixture.home + "/disk")
            for command in [["token"], ["status"], ["use", "--none"]] {
                let message = try await fixture.start(command + ["--json"]).outcome().failure(1, "store")
                #expect(
                    message == "\(fixture.sessions) is a link to a folder that does not exist. Is the disk mounted?")
            }
            try FileManager.default.createDirectory(atPath: fixture.home + "/disk", withIntermediateDirectories: false)
            try await fixture.signIn()
            _ = try await fixture.run("token", "--json").result()
        }
    }

    /// `sudo` without `-H` keeps the home folder of the user.
    @Test(.enabled(if: geteuid() == 0, "only root can make another user’s folder"))
    func `root neither reads nor writes in the folder of another user, and is advised to do without sudo`() async throws
    {
        try await withTwoUsers { fixture in
            func give(to user: uid_t) {
                for file in [""] + fixture.stored + fixture.stored.map({ $0 + ".lock" }) {
                    chown("\(fixture.sessions)/\(file)", user, user)
                }
                for folder in [fixture.home, fixture.stateHome] { chown(folder, user, user) }
            }
            let before = try FileManager.default.contentsOfDirectory(atPath: fixture.sessions).sorted()
            give(to: 65534)
            let session = ["--issuer", fixture.issuer, "--client-id", "demo"]
            for command in [
                ["token"], ["token"] + session, ["use", "--none"], ["use", "home"], ["login"] + session,
                ["login", "--profile", "new"] + session, ["login", "--store", "file:\(fixture.home)/new"] + session,
                ["register", "--issuer", fixture.issuer, "--redirect-uri", "http://127.0.0.1/callback"],
                ["logout", "--local", "--discard"] + session, ["logout", "--local", "--profile", "home", "--forget"],
            ] {
                let message = try await fixture.start(command + ["--json"]).outcome().failure(1, "store")
                #expect(message.contains("is in a folder of another user"), "\(command): \(message)")
                #expect(message.contains("run this as that user, without sudo"), "\(message)")
                #expect(!message.contains("aside") && !message.contains("--forget"), "\(message)")
            }
            #expect(fixture.browser.visits.isEmpty && fixture.provider.count(.clientRegistration) == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.sessions).sorted() == before)
            let fresh = try await fixture.start(
                fixture.loginArguments([]), ["XDG_STATE_HOME": nil, "HOME": fixture.home]
            ).outcome()
            #expect(try fresh.failure(1, "store").contains("without sudo"))
            #expect(!FileManager.default.fileExists(atPath: fixture.home + "/.local"))
            give(to: 0)
            _ = try await fixture.run("token", "--json").result()
        }
    }

    private static func isThere(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
